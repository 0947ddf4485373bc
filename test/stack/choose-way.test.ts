import { describe, expect, it } from 'vitest';
import { chooseWay, type Finding, type Findings } from './choose-way.ts';

const open: Finding = { open: true };
const no = (missing: string): Finding => ({ open: false, missing });
const findings = (given: Partial<Findings>): Findings => ({
  environment: no('KAFKA_BROKERS is not set.'),
  docker: no('No engine answers.'),
  jvm: no('There is no Java.'),
  ...given,
});

describe('choosing the way', () => {
  it.each<[string, Partial<Findings>]>([
    ['environment', { environment: open, docker: open, jvm: open }],
    ['docker', { docker: open, jvm: open }],
    ['jvm', { jvm: open }],
    ['jvm', { environment: open, docker: open, jvm: open, wanted: 'jvm' }],
    ['docker', { environment: open, docker: open, wanted: 'docker' }],
  ])('takes %s first of %j', (way, given) => {
    expect(chooseWay(findings(given))).toBe(way);
  });

  it('names all three ways and what each lacks when none is open', () => {
    expect(() => chooseWay(findings({}))).toThrow(
      /1\. .*KAFKA_BROKERS and SCHEMA_REGISTRY_URL.*not set.*\n.*2\. Docker.*No engine.*\n.*3\. Java and Maven.*no Java/,
    );
  });

  it('takes no other way than the one that is wanted, and says why that one is closed', () => {
    expect(() => chooseWay(findings({ docker: open, wanted: 'jvm' }))).toThrow(/jvm.*There is no Java\./);
  });
});
