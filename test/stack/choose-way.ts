import type { Way } from './stack.ts';
import { StackError } from './stack-error.ts';

/** Whether a way is open, and what is missing where it isn't. */
export type Finding = { open: true } | { open: false; missing: string };

export type Findings = Readonly<Record<Way, Finding>> & {
  /** The one way that is wanted, whatever else is open. */
  readonly wanted?: 'docker' | 'jvm' | undefined;
};

const ORDER: readonly Way[] = ['environment', 'docker', 'jvm'];

/** The first way that is open, or a {@link StackError} that names all three and what each lacks. */
export function chooseWay(findings: Findings): Way {
  const { wanted } = findings;
  if (wanted !== undefined) {
    const finding = findings[wanted];
    if (finding.open) return wanted;
    throw new StackError(`Kafka was to be started by way of ${wanted}, which doesn't go: ${finding.missing}`);
  }
  const way = ORDER.find((one) => findings[one].open);
  if (way === undefined) throw new StackError(nothingFound(findings));
  return way;
}

const nothingFound = (findings: Findings) =>
  `There is no Kafka and no schema registry to use. Any one of these would do:
  1. Name running ones: set KAFKA_BROKERS and SCHEMA_REGISTRY_URL. ${missing(findings.environment)}
  2. Docker: start an engine. ${missing(findings.docker)}
  3. Java and Maven, without Docker: install JDK 21 or later and Maven. ${missing(findings.jvm)}`;

const missing = (finding: Finding) => (finding.open ? '' : `(${finding.missing})`);
