/**
 * @platformatic/kafka 2.12.1 compiles the validators of all its options when it is imported: a third of what the start of
 * ingress costs, and again in each of its threads. They are used by clients with `strict` alone, which ours are not.
 * Imported before the client, this lets each validator be compiled when it is first called. `client-patches.ts` checks
 * the version and calls `compileAtOnce` when the client is loaded.
 */

import { createRequire } from 'node:module';

type Validator = { (data: unknown): boolean; errors?: unknown };
type Ajv = { compile(schema: object): Validator };

const require = createRequire(import.meta.url);
// The client's own: another package may have another version.
const { Ajv2020 } = createRequire(require.resolve('@platformatic/kafka'))('ajv/dist/2020.js') as {
  Ajv2020: { prototype: Ajv };
};
const { prototype } = Ajv2020;
const compile = prototype.compile;

prototype.compile = function compileWhenCalled(this: Ajv, schema) {
  let compiled: Validator | undefined;
  const validator: Validator = (data) => {
    compiled ??= compile.call(this, schema);
    const isValid = compiled(data);
    validator.errors = compiled.errors;
    return isValid;
  };
  return validator;
};

/** From now on a validator is compiled where it is made, as ever. */
export function compileAtOnce(): void {
  // It was inherited.
  Reflect.deleteProperty(prototype, 'compile');
}
