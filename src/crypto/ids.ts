import { randomUUID } from 'node:crypto';

/** A random UUID. */
export const newId = (): string => randomUUID();
