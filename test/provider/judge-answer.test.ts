import { describe, expect, it } from 'vitest';
import {
  isWithoutEffect,
  type Judgement,
  judgeStatus,
  mayComeLater,
} from '../../src/provider/judge-answer.ts';

describe('a status', () => {
  it.each([
    ['done', [200, 201, 202, 204]],
    ['gone', [404, 410]],
    ['later', [408, 425, 429]],
    ['unauthorised', [401]],
    ['refused', [300, 302, 303, 307, 308, 400, 403, 405, 409, 413, 415, 422, 451, 499]],
    ['unknown', [203, 205, 206, 226, 500, 501, 502, 503, 504, 520, 599]],
  ])('is judged %s', (judgement, statuses) => {
    expect(statuses.map((status) => [status, judgeStatus(status)])).toEqual(
      statuses.map((status) => [status, judgement]),
    );
  });
});

describe('an answer', () => {
  it.each<[Judgement, number | null]>([
    ['later', 429],
    ['later', null],
    ['unauthorised', 401],
    ['gone', 404],
    ['refused', 400],
    ['refused', 499],
  ])('that is %s (%s) leaves no effect behind', (judgement, status) => {
    expect(isWithoutEffect({ judgement, status })).toBe(true);
  });

  it.each<[Judgement, number | null]>([
    ['done', 200],
    ['unknown', 500],
    ['unknown', null],
    ['refused', 307],
    ['refused', 399],
    ['refused', null],
  ])('that is %s (%s) may have had its effect', (judgement, status) => {
    expect(isWithoutEffect({ judgement, status })).toBe(false);
  });

  it('may come before its effect where it was only accepted, a gateway gave up, or nobody waited long enough', () => {
    const statuses = [200, 201, 202, 204, 307, 400, 404, 408, 429, 500, 502, 503, 504, 505, null];
    expect(statuses.filter((status) => mayComeLater({ status }))).toEqual([202, 502, 504]);
    expect(mayComeLater({ status: null, timedOutEarly: true })).toBe(true);
  });
});
