/** Known holes in what is shipped, by `npm audit`. Arguments go to npm, such as --registry. Exit codes: see judge-audit. */
import { execFile } from 'node:child_process';
import { judgeAudit } from './judge-audit.ts';

const AUDIT_MS = 120_000;
const args = ['audit', '--omit=dev', '--json', '--loglevel=silent', ...process.argv.slice(2)];
execFile('npm', args, { timeout: AUDIT_MS, maxBuffer: 64 * 1024 * 1024 }, (error, stdout) => {
  const { exitCode, lines } = judgeAudit(stdout || (error?.killed ? 'no answer within two minutes' : ''));
  for (const line of lines) console.log(line);
  process.exitCode = exitCode;
});
