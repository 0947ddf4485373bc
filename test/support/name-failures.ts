import { stripVTControlCharacters } from 'node:util';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';

/** What a line may take of an error's text. */
const WIDTH = 200;

/** A reporter whose last words are one line for each failure: the file, the test, and what broke. */
export default class NameFailures implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const lines = [
      ...modules.flatMap(failuresOf),
      ...unhandled.map((error) => `outside of any test: ${firstLine(error)}`),
    ];
    if (lines.length === 0) return;
    console.log(`\nWhat failed:\n${lines.map((line) => `  ${line}`).join('\n')}`);
  }
}

function failuresOf(module: TestModule): string[] {
  const file = module.relativeModuleId;
  // A file that cannot be loaded, or a hook that fails, leaves no failed test.
  const suites = [module, ...module.children.allSuites()].flatMap((suite) =>
    suite.errors().map((error) => `${file}: ${firstLine(error)}`),
  );
  const tests = [...module.children.allTests('failed')].map(
    (test) => `${file}: ${test.fullName}: ${firstLine(test.result().errors?.[0])}`,
  );
  return [...suites, ...tests];
}

function firstLine(error: { readonly message: string } | undefined): string {
  const [line = ''] = stripVTControlCharacters(error?.message ?? 'no error given').split('\n');
  return line.length > WIDTH ? `${line.slice(0, WIDTH)} …` : line;
}
