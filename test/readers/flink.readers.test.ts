import { describeReader } from './describe-reader.ts';
import { readWithFlink } from './programs/flink.ts';
import { FLINK_SQL } from './readers.ts';

describeReader(FLINK_SQL, readWithFlink);
