import { counted } from '../page/parts.ts';
import type { Alert } from '../watch/prometheus.ts';
import type { Growth } from '../watch/rates.ts';
import type { PodReading } from '../watch/read-pod.ts';
import { findProblems } from './find-problems.ts';
import type { Problem, Severity } from './problem.ts';

export type Verdict = {
  /** `unknown`: nothing is watched, or nothing has been read yet. */
  readonly state: 'well' | Severity | 'unknown';
  readonly sentence: string;
  readonly problems: readonly Problem[];
};

export type Evidence = {
  /** undefined before the first reading. */
  readonly pods: readonly PodReading[] | undefined;
  readonly hasTargets: boolean;
  /** Of five minutes. */
  readonly recent: Growth;
  readonly alerts: readonly Alert[];
  /** Why PROMETHEUS_URL could not be asked; null where it could, or is unset. */
  readonly prometheusFault: string | null;
  /** Why this console cannot read the dead-letter topic, which it reads all the time; null where it can. */
  readonly deadLettersFault: string | null;
  /** Milliseconds since 1970. */
  readonly now: number;
};

/** Whether all is well, and if not, what is wrong and what to do: the most urgent first. */
export function judge(evidence: Evidence): Verdict {
  const { pods, hasTargets } = evidence;
  const found = [
    ...ofDeadLetters(evidence),
    ...ofAlerts(evidence),
    ...(pods ? findProblems(pods, evidence) : []),
  ];
  const problems = found.sort((a, b) => Number(b.severity === 'act') - Number(a.severity === 'act'));
  const urgent = problems.filter(({ severity }) => severity === 'act').length;
  if (urgent > 0)
    return {
      state: 'act',
      sentence: `${counted(urgent, 'problem needs', 'problems need')} you now`,
      problems,
    };
  if (problems.length > 0)
    return {
      state: 'look',
      sentence: `${counted(problems.length, 'thing', 'things')} to look at today`,
      problems,
    };
  if (!hasTargets)
    return {
      state: 'unknown',
      problems,
      sentence: 'Nothing is watched: set CONSOLE_TARGETS to the admin addresses of ingress and control',
    };
  if (!pods) return { state: 'unknown', sentence: 'The first reading is under way', problems };
  return { state: 'well', sentence: 'All is well', problems };
}

const ofDeadLetters = ({ deadLettersFault }: Evidence): Problem[] =>
  deadLettersFault === null
    ? []
    : [
        {
          severity: 'look',
          what: `This console cannot read the dead-letter topic: ${deadLettersFault}.`,
          remedy:
            'What stands here comes from the processes themselves. Where the brokers cannot be reached, the other pages show nothing of Kafka, or what was read before: compare the Kafka settings of the console with those of ingress, and see whether it may connect to the brokers.',
          command: 'hookline doctor',
        },
      ];

const ofAlerts = ({ alerts, prometheusFault }: Evidence): Problem[] => [
  ...alerts.map(({ name, severity, summary, description, runbook }): Problem => {
    const what = `${summary} (${name})`;
    return { severity: severity === 'critical' ? 'act' : 'look', what, remedy: description, runbook };
  }),
  ...(prometheusFault === null
    ? []
    : [
        {
          severity: 'look',
          what: `Prometheus cannot be asked: ${prometheusFault}.`,
          remedy: 'Check PROMETHEUS_URL; until then the plots show what the console has read itself.',
        } as const,
      ]),
];
