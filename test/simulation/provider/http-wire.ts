/** A request or an answer of HTTP/1.1 with a body of a known length, as far as the model provider and its client speak it. */
export type Message = {
  /** "POST /oauth/token HTTP/1.1", or "HTTP/1.1 200". */
  readonly first: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

const END = '\r\n\r\n';

export function writeMessage({ first, headers, body }: Message): Buffer {
  const all = { ...headers, 'content-length': `${Buffer.byteLength(body)}` };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return Buffer.from(`${[first, ...lines].join('\r\n')}${END}${body}`);
}

/** undefined while it is not whole. */
export function readMessage(bytes: Buffer): Message | undefined {
  const end = bytes.indexOf(END);
  if (end < 0) return undefined;
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const headers = Object.fromEntries(lines.map((line) => splitAt(line, ': ')));
  const body = bytes.subarray(end + END.length);
  if (body.length < Number(headers['content-length'])) return undefined;
  return { first, headers, body: body.toString('utf8') };
}

function splitAt(line: string, separator: string): [string, string] {
  const at = line.indexOf(separator);
  return [line.slice(0, at).toLowerCase(), line.slice(at + separator.length)];
}
