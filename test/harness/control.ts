import { Client } from 'undici';

export interface ControlAnswer {
  readonly status: number;
  /** Undefined where it is no JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever comes is looked at by the tests.
  readonly body: any;
  readonly text: string;
}

/** Asks the daemon behind a control socket, once. */
export async function askSocket(socket: string, method: string, path: string, body?: unknown): Promise<ControlAnswer> {
  const client = new Client('http://localhost', { socketPath: socket });
  try {
    const answer = await client.request({
      ...{ method: method as 'GET', path },
      ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    const text = await answer.body.text();
    const isJson = /json/.test(String(answer.headers['content-type']));
    return { status: answer.statusCode, text, body: isJson ? JSON.parse(text) : undefined };
  } finally {
    await client.destroy();
  }
}

export const metricsOf = async (socket: string): Promise<string> => (await askSocket(socket, 'GET', '/metrics')).text;
