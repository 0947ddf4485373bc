import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

/** What a fresh process prints: the client is loaded once in each. */
const run = (code: string) =>
  execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' }).trim();

/** Counts what the client's own Ajv compiles while `module` is imported and `then` runs. */
const compiledBy = (module: string, then = '') =>
  Number(
    run(`
      import { createRequire } from 'node:module';
      const { Ajv2020 } = createRequire(import.meta.resolve('@platformatic/kafka'))('ajv/dist/2020.js');
      const core = Object.getPrototypeOf(Ajv2020.prototype);
      const { compile } = core;
      let compiled = 0;
      core.compile = function (...schemas) { compiled++; return compile.apply(this, schemas); };
      await import('${module}');
      ${then}
      console.log(compiled);`),
  );

describe('the validators of @platformatic/kafka', () => {
  it('are not compiled when our client is imported, unlike when the package is', () => {
    expect(compiledBy('./src/kafka/open-kafka.ts')).toBe(0);
    expect(compiledBy('@platformatic/kafka')).toBeGreaterThan(30);
  });

  it('are not compiled either when a consumer is made, whose options they would check', () => {
    const consumer = `
      const { Consumer } = await import('@platformatic/kafka');
      await new Consumer({ clientId: 'a', groupId: 'b', bootstrapBrokers: ['localhost:1'] }).close();`;
    expect(compiledBy('./src/kafka/connect/client-patches.ts', consumer)).toBe(0);
  });

  it('of others who use the same Ajv are compiled as ever', () => {
    const other = `
      const accepts = new Ajv2020().compile({ type: 'string' });
      if (accepts(1) || !accepts('a')) throw new Error('accepts everything');`;
    expect(compiledBy('./src/kafka/connect/client-patches.ts', other)).toBe(1);
  });
});
