import { Agent } from 'undici';
import { isErrorCode, SitewardError } from '#errors.ts';
import { lanOperations, problem, syncDevicesMs } from '#lan/http/index.ts';
import {
  type Answer,
  bindClient,
  type Client,
  type Result,
  type WireAnswer,
  type WireRequest,
} from '#lib/contract/client.ts';

const deadlineMs = 10_000;
const bodyCapBytes = 8 * 1024 * 1024;

/** Of a verb for one answer: longer than the daemon takes for what it answers at once. */
export const patience = (): AbortSignal => AbortSignal.timeout(15_000);

/** The same where the daemon asks the cloud first, with its retries. */
export function cloudPatience(): { readonly signal: AbortSignal; readonly deadlineMs: number } {
  const ms = syncDevicesMs + 5000;
  return { signal: AbortSignal.timeout(ms), deadlineMs: ms };
}

export interface Control extends AsyncDisposable {
  readonly client: Client<typeof lanOperations>;
}

/** What the control socket serves. A daemon that does not answer is `control_unreachable`, with what to do. */
export function openControl(socket: string): Control {
  const agent = new Agent({ connect: { socketPath: socket, timeout: deadlineMs }, connections: 1 });
  return {
    client: bindClient(lanOperations, (wire) =>
      sendOn({ dispatcher: agent, origin: 'http://localhost', place: socket }, wire),
    ),
    [Symbol.asyncDispose]: () => agent.destroy(),
  };
}

/** Where the daemon listens; `place` is how errors name it. */
interface Listener {
  readonly dispatcher: Agent;
  readonly origin: string;
  readonly place: string;
}

/** Throws `control_unreachable`, and the reason of the signal. */
export async function sendOn({ dispatcher, origin, place }: Listener, wire: WireRequest): Promise<WireAnswer> {
  const signal = AbortSignal.any([wire.signal, AbortSignal.timeout(wire.deadlineMs ?? deadlineMs)]);
  const { method } = wire.operation;
  const sentMono = performance.now();
  try {
    const answer = await dispatcher.request({
      origin,
      path: wire.target,
      method,
      headers: wire.headers,
      body: wire.body ?? null,
      signal,
    });
    const headMono = performance.now();
    const headers = Object.fromEntries(Object.entries(answer.headers).map(([name, value]) => [name, String(value)]));
    const body = await readCapped(answer.body);
    return { kind: 'answer', status: answer.statusCode, headers, body, sentMono, headMono };
  } catch (cause) {
    wire.signal.throwIfAborted();
    throw cause instanceof SitewardError ? cause : unreachable(place, cause);
  }
}

async function readCapped(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of body) {
    total += chunk.length;
    if (total > bodyCapBytes) throw new Error(`the answer is larger than ${bodyCapBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, total);
}

const advice: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such socket. Is siteward running? Start it, or name its socket with --socket',
  ECONNREFUSED: 'nobody listens on it. siteward has stopped; "systemctl status siteward" says why',
  EACCES: 'this user may not open it. Join the group siteward, or use sudo',
};

function unreachable(socket: string, cause: unknown): SitewardError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const reason = advice[code] ?? 'it does not answer as siteward does. Look into the log of the daemon';
  return new SitewardError('control_unreachable', `the daemon cannot be reached on ${socket}: ${reason}`, {
    facts: { socket, code },
    ...(advice[code] === undefined && { cause }),
  });
}

/** The answer of a call that succeeded; anything else is thrown as the error the daemon named, under its own code. */
export function answered<O>(result: Result<O>): Answer<O> {
  if (result.kind === 'failure') throw new SitewardError('control_unreachable', result.message);
  if (result.status === 200) return result;
  const known = problem.safeParse(result.json);
  const { status } = result;
  if (!known.success)
    throw new SitewardError('control_refused', `the daemon refused with status ${status}`, { facts: { status } });
  const { code, detail, errors, title } = known.data;
  const said = detail ?? wrongMembers(errors) ?? title;
  if (isErrorCode(code)) throw new SitewardError(code, said, { facts: { status } });
  throw new SitewardError('control_refused', `the daemon refused: ${said}`, { facts: { status, code } });
}

const wrongMembers = (errors: readonly { readonly field: string; readonly detail: string }[] | undefined) =>
  errors?.map(({ field, detail }) => `${field} ${detail}`).join('; ');
