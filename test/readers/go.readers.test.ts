import { expect, inject, it } from 'vitest';
import { describeReader } from './describe-reader.ts';
import { goProgram } from './programs/go.ts';
import { runReader } from './programs/run-program.ts';
import { FRANZ_GO } from './readers.ts';
import { readRecords } from './records/record-list.ts';

describeReader(FRANZ_GO, async (place) => runReader(await goProgram(), place));

it('hamba/avro refuses messages of more than 1 MiB by its own limit, and says so', async () => {
  const place = inject('recordsPlace');
  const refused = (await runReader(await goProgram(['defaults']), place)).filter(
    ({ value }) => value === null,
  );
  const large = (await readRecords(place.file)).filter(({ cell }) => cell === '50 MB in the record');
  expect(refused.map(({ key }) => key).sort()).toEqual(large.map(({ key }) => key).sort());
  for (const { error } of refused) expect(error).toContain('size is greater than `Config.MaxByteSliceSize`');
});
