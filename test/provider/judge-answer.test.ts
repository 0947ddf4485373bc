import { describe, expect, it } from 'vitest';
import { judgeStatus } from '../../src/provider/judge-answer.ts';

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
