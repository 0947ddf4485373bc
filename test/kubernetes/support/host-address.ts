import { createSocket } from 'node:dgram';

/**
 * This machine's address as pods reach it: the one from which it talks to the node. That holds where the node is this
 * machine, and where it is a container on it, as kind's are. Nothing is sent.
 */
export async function hostAddress(nodeAddress: string): Promise<string> {
  const socket = createSocket('udp4');
  try {
    const connected = Promise.withResolvers<void>();
    socket.once('error', connected.reject);
    socket.connect(9, nodeAddress, connected.resolve);
    await connected.promise;
    return socket.address().address;
  } finally {
    socket.close();
  }
}
