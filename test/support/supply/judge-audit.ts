export type Judgement = { readonly exitCode: 0 | 1 | 2; readonly lines: readonly string[] };

/** What `npm audit --json` prints; `vulnerabilities` is there only where the registry was asked and has answered. */
type Report = { vulnerabilities?: Record<string, Hole>; message?: string; error?: { summary?: string } };
type Hole = { severity: string; range: string; via: readonly (string | { title: string; url: string })[] };

const UNKNOWN = [
  'Whether there are holes is not known. Ask a registry that audits:',
  '  make check-supply ARGS=--registry=https://…',
];

/**
 * What an operator has to know of an audit. An audit that could not run is no audit without findings: it has an exit code
 * of its own, so that a pipeline can tell them apart. 0 no hole is known, 1 holes, 2 it could not run.
 */
export function judgeAudit(printed: string): Judgement {
  const { vulnerabilities, message, error } = reportIn(printed);
  if (vulnerabilities === undefined) {
    const why = message || error?.summary || printed.trim() || 'npm has printed nothing';
    return { exitCode: 2, lines: [`The audit could not run: ${why}`, ...UNKNOWN] };
  }
  const holes = Object.entries(vulnerabilities);
  if (holes.length === 0) return { exitCode: 0, lines: ['No known holes in what is shipped.'] };
  const lines = holes.flatMap(([name, hole]) => [
    `${hole.severity}: ${name} ${hole.range}`,
    ...causesOf(hole),
  ]);
  return {
    exitCode: 1,
    lines: [...lines, `Known holes in ${holes.length} of the packages that are shipped.`],
  };
}

const causesOf = ({ via }: Hole) =>
  via.map((cause) => (typeof cause === 'string' ? `  by ${cause}` : `  ${cause.title} ${cause.url}`));

function reportIn(printed: string): Report {
  try {
    return JSON.parse(printed) as Report;
  } catch {
    return {};
  }
}
