/** The variables that have a value: a manifest can set one to nothing, which is as one that is not set. */
export const setVariables = (
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
