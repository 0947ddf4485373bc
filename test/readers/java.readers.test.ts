import { describeReader } from './describe-reader.ts';
import { CONSUMER, javaProgram } from './programs/java.ts';
import { runReader } from './programs/run-program.ts';
import { APICURIO, AVRO_JAVA } from './readers.ts';

describeReader(APICURIO, async (place) =>
  runReader(await javaProgram(CONSUMER, 'readers.ReadWithApicurio'), place),
);

describeReader(AVRO_JAVA, async (place) =>
  runReader(await javaProgram(CONSUMER, 'readers.ReadWithAvro'), place),
);
