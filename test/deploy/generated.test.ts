import { describe, expect, it } from 'vitest';
import { GENERATED, readFile } from '../support/generated/files.ts';

describe('what is made of the code', () => {
  it.each(Object.entries(GENERATED))('%s is as the code makes it (npm run readme)', (path, make) => {
    const text = readFile(path);
    expect(make(text)).toBe(text);
  });
});
