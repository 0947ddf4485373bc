import { describe, expect, it } from 'vitest';
import { recordRoom } from '../../../src/ingress/large-body/record-room.ts';

const MIB = 1024 * 1024;

describe('the room for a record', () => {
  it('is twice the body beside others, and more where it is worked on alone', () => {
    expect(recordRoom(2 * MIB, 50 * MIB)).toEqual({ bytes: 4 * MIB + 4_096, isShare: true });
    expect(recordRoom(50 * MIB, 50 * MIB)).toEqual({ bytes: 100 * MIB, isShare: false });
  });

  it('is no share where it is all that a broker reads', () => {
    expect(recordRoom(47 * MIB, 50 * MIB).isShare).toBe(true);
    expect(recordRoom(48 * MIB, 50 * MIB)).toEqual({ bytes: 100 * MIB, isShare: false });
  });

  it('is twice a row of the spool that is larger than any body may be now', () => {
    expect(recordRoom(20 * MIB, 8 * MIB)).toEqual({ bytes: 40 * MIB, isShare: false });
  });

  it('is 16 MiB at the least for one that is worked on alone, however small the largest body is', () => {
    expect(recordRoom(2 * MIB, 2 * MIB)).toEqual({ bytes: 16 * MIB, isShare: false });
  });
});
