import type { RunningProcess } from '../../support/running-process.ts';
import { type Case, judge, type Verdict } from './cases.ts';
import type { ControlKit } from './control-kit.ts';
import { nameOf, type Point } from './gate.ts';

export type Row = Verdict & { readonly command: string; readonly point: string; readonly ms: number };

type Prepared = { readonly ref: string; readonly command: Record<string, unknown> & { commandId: string } };

/** Kills control at each point of each command's flow, and looks what came of it when another has taken its place. */
export class CrashPoints implements AsyncDisposable {
  readonly #kit: ControlKit;
  #control: RunningProcess;
  #count = 0;

  constructor(kit: ControlKit) {
    this.#kit = kit;
    this.#control = kit.start();
  }

  /** The points that the command passes when nothing happens, in their order. */
  async pointsOf(one: Case): Promise<Point[]> {
    const [prepared] = await this.#prepare(one, 1);
    await this.#begin(one, prepared as Prepared, () => this.#kit.gate.open());
    await this.#kit.settled([(prepared as Prepared).command.commandId]);
    const { wrong } = await judge(this.#kit, one, toJudge(prepared as Prepared));
    if (wrong.length > 0) throw new Error(`${one.name} without a crash: ${wrong.join(', ')}`);
    return [...this.#kit.gate.seen];
  }

  /** @param choose some of the points, where there is no time for all */
  async run(
    one: Case,
    choose: (point: Point, n: number) => boolean,
    say: (row: Row) => void,
  ): Promise<Row[]> {
    const points = (await this.pointsOf(one)).filter(choose);
    const prepared = await this.#prepare(one, points.length);
    const rows: Row[] = [];
    for (const [n, point] of points.entries()) {
      const row = await this.#crashAt(one, point, prepared[n] as Prepared);
      say(row);
      rows.push(row);
    }
    return rows;
  }

  async #crashAt(one: Case, point: Point, prepared: Prepared): Promise<Row> {
    const { gate } = this.#kit;
    const start = performance.now();
    const victim = this.#control;
    const died = Promise.withResolvers<void>();
    await this.#begin(one, prepared, () =>
      gate.arm(point, () => {
        victim.kill('SIGKILL');
        died.resolve();
      }),
    );
    const { commandId } = prepared.command;
    await Promise.race([
      died.promise,
      this.#kit.settled([commandId]).then(() => Promise.reject(new Error('passed'))),
    ]).catch((error: Error) => {
      if (error.message !== 'passed') throw error;
    });
    const isDead = gate.isShut;
    await this.#kit.sandbox.call('DELETE', '/_sandbox/faults');
    if (isDead) {
      await victim.end();
      gate.open();
      this.#control = this.#kit.start();
    }
    await this.#kit.settled([commandId]);
    const verdict = await judge(this.#kit, one, toJudge(prepared));
    const wrong = isDead ? verdict.wrong : [...verdict.wrong, 'the point was not reached'];
    return {
      ...verdict,
      wrong,
      command: one.name,
      point: nameOf(point),
      ms: Math.round(performance.now() - start),
    };
  }

  /** The token is not taken any more: fetching one is a part of every flow. */
  async #begin(one: Case, { command }: Prepared, ready: () => void): Promise<void> {
    await this.#control.logged('reading commands');
    await this.#control.logged('the state is claimed');
    await this.#kit.sandbox.call('POST', '/_sandbox/tokens/revoke');
    await this.#kit.sandbox.fail(...(one.faults ?? []));
    this.#kit.watch(command.commandId);
    ready();
    await this.#kit.send(command);
  }

  async #prepare(one: Case, count: number): Promise<Prepared[]> {
    this.#kit.gate.open();
    const refs = Array.from({ length: count }, () => `r-${++this.#count}`);
    if (one.onSubscription) {
      const ids = refs.map((ref) => `before-${ref}`);
      for (const [n, ref] of refs.entries())
        await this.#kit.send({
          commandId: ids[n],
          type: 'subscription.create',
          ref,
          events: ['payment-status'],
        });
      await this.#kit.settled(ids);
    }
    return Promise.all(
      refs.map(async (ref) => {
        const more = (await one.prepare?.(this.#kit, ref)) ?? {};
        return { ref, command: { commandId: this.#kit.newId(), ref, ...one.command, ...more } };
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#kit.gate.open();
    await this.#control.stop();
  }
}

const toJudge = ({ ref, command: { commandId } }: Prepared) => ({ ref, commandId });
