import { describeReader } from './describe-reader.ts';
import { pythonProgram } from './programs/python.ts';
import { runReader } from './programs/run-program.ts';
import { CONFLUENT_PYTHON, FASTAVRO } from './readers.ts';

describeReader(CONFLUENT_PYTHON, async (place) =>
  runReader(await pythonProgram('read_with_confluent.py'), place),
);

describeReader(FASTAVRO, async (place) => runReader(await pythonProgram('read_with_fastavro.py'), place));
