/**
 * @platformatic/kafka 2.12.1 compiles the validators of all its options when it is imported: a third of what the start of
 * ingress costs, and again in each of its threads. Clients with `strict` use them, which ours are not, and each consumer has
 * one check the options of its group (90 ms), which ours never joins. What we give the client is written in
 * this folder, and checked by TypeScript.
 * Imported before the client, this lets its validators accept everything. `client-patches.ts` checks the version and calls
 * `compileAgain` when the client is loaded.
 */

import { createRequire } from 'node:module';

type Ajv = { compile(schema: object): (data: unknown) => boolean };

const require = createRequire(import.meta.url);
// The client's own: another package may have another version.
const { Ajv2020 } = createRequire(require.resolve('@platformatic/kafka'))('ajv/dist/2020.js') as {
  Ajv2020: { prototype: Ajv };
};
const { prototype } = Ajv2020;

prototype.compile = () => () => true;

/** From now on validators are compiled, as ever. */
export function compileAgain(): void {
  // It was inherited.
  Reflect.deleteProperty(prototype, 'compile');
}
