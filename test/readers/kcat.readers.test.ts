import { describeReader } from './describe-reader.ts';
import { readWithKcat } from './programs/kcat.ts';
import { KCAT } from './readers.ts';

describeReader(KCAT, readWithKcat);
