import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

/** What a fresh process prints: the client is loaded once in each. */
const run = (code: string) =>
  execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' }).trim();

/** Counts what the client's own Ajv compiles while `module` is imported. */
const compiledBy = (module: string) =>
  Number(
    run(`
      import { createRequire } from 'node:module';
      const { Ajv2020 } = createRequire(import.meta.resolve('@platformatic/kafka'))('ajv/dist/2020.js');
      const core = Object.getPrototypeOf(Ajv2020.prototype);
      const { compile } = core;
      let compiled = 0;
      core.compile = function (...schemas) { compiled++; return compile.apply(this, schemas); };
      await import('${module}');
      console.log(compiled);`),
  );

describe('the validators of @platformatic/kafka', () => {
  it('are not compiled when our client is imported, unlike when the package is', () => {
    expect(compiledBy('./src/kafka/open-kafka.ts')).toBe(0);
    expect(compiledBy('@platformatic/kafka')).toBeGreaterThan(30);
  });

  it('are compiled when they are called, and say what is wrong', () => {
    const said = run(`
      await import('./src/kafka/connect/client-patches.ts');
      const { Producer } = await import('@platformatic/kafka');
      const options = { clientId: 'a', bootstrapBrokers: ['localhost:1'], strict: true };
      await new Producer(options).close();
      try { new Producer({ ...options, timeout: 'soon' }); } catch (error) { console.log(error.message); }`);
    expect(said).toContain('timeout');
  });
});
