/** The name of a subscription in Hookline, and the last part of its receiver's address. */
export const REF = /^[a-z0-9][a-z0-9-]{0,62}$/;

export const isRef = (text: unknown): text is string => typeof text === 'string' && REF.test(text);
