import { describe, expect, it } from 'vitest';
import { GENERATED, readFile } from '../support/generated/files.ts';

describe('what is generated from the code', () => {
  it.each(Object.entries(GENERATED))('%s is as the code makes it (make docs)', (path, make) => {
    const text = readFile(path);
    expect(make(text)).toBe(text);
  });
});
