import type { Sample } from '../../monitoring/metric-samples.ts';
import { type Growth, grown } from '../watch/rates.ts';
import type { PodReading } from '../watch/read-pod.ts';
import type { Problem, ProblemPage, Severity } from './problem.ts';

/** Processes at one time, and what their counters did within five minutes. */
export class Facts {
  readonly pods: readonly PodReading[];
  readonly recent: Growth;
  readonly problems: Problem[] = [];
  constructor(pods: readonly PodReading[], recent: Growth) {
    this.pods = pods;
    this.recent = recent;
  }
  add(
    severity: Severity,
    what: string,
    remedy: string,
    where: { readonly command?: string; readonly page?: ProblemPage } = {},
  ): void {
    this.problems.push({ severity, what, remedy, ...where });
  }
  samples = (name: string): readonly Sample[] => this.pods.flatMap(({ samples }) => samples.of(name));
  /** 0 where no process has it. */
  max = (name: string): number => this.samples(name).reduce((most, { value }) => Math.max(most, value), 0);
  sum = (name: string): number => this.samples(name).reduce((total, { value }) => total + value, 0);
  grown = (counter: string, label?: RegExp): number => Math.round(grown(this.recent, counter, label));
}
