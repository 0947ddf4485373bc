import { pbkdf2Sync, randomBytes } from 'node:crypto';
import { alterUserScramCredentialsV0, Connection } from '@platformatic/kafka';

/** Kafka's numbers of the mechanisms. */
const SCRAM_SHA_512 = 2;
const ITERATIONS = 4096;

/** Gives a user another password at the brokers, as `kafka-configs --alter --add-config SCRAM-SHA-512=…` does. */
export async function changePassword(broker: string, name: string, password: string): Promise<void> {
  const [host = '', port] = broker.split(':');
  const connection = new Connection('test');
  await connection.connect(host, Number(port));
  try {
    const salt = randomBytes(16);
    const saltedPassword = pbkdf2Sync(password, salt, ITERATIONS, 64, 'sha512');
    const user = { name, mechanism: SCRAM_SHA_512, iterations: ITERATIONS, salt, saltedPassword };
    await alterUserScramCredentialsV0.api.async(connection, [], [user]);
  } finally {
    await connection.close();
  }
}
