import { request } from 'undici';
import type { Line } from '#sandbox/demo/line.ts';
import { eventually, type Running, startProcess } from '#sandbox/demo/processes.ts';
import type { SiteEvent } from '#site/model/index.ts';

/** One accepted event as the sandbox recorded it. */
export interface Accepted {
  readonly event_id: string;
  /** Order of acceptance, from 1; it goes on over restarts of the sandbox. */
  readonly seq: number;
  /** When its first try came in, by the clock of the machine, which no test sets. */
  readonly arrived_at: string;
  readonly body: {
    readonly event_id: string;
    readonly event_type: string;
    readonly event_status: string;
    readonly event_time: string;
    readonly sent_at: string;
    readonly upload_snapshot_count: number;
    readonly should_signal_to_monitoring_center: boolean;
    readonly payload: SiteEvent;
  };
  readonly try_count: number;
  /** Every try was the same apart from `sent_at`. */
  readonly identical: boolean;
}

export interface Upload {
  readonly event_id: string;
  readonly kind: string;
  readonly index: number;
  readonly bytes: number;
  readonly sha256: string;
  readonly authorization_sent: boolean;
}

export interface CloudProcess {
  /** The address of the sandbox itself, behind the line. */
  readonly url: string;
  readonly pid: number | undefined;
  /** In the order of acceptance, those of sandboxes that were restarted included. */
  events(): Promise<readonly Accepted[]>;
  uploads(): Promise<readonly Upload[]>;
  /** `GET /__sandbox/<path>` or, with a body or method, what else the control path knows. */
  control(path: string, options?: { method?: 'GET' | 'POST' | 'DELETE'; body?: object }): Promise<unknown>;
  /** Cuts the line and ends the sandbox at once; its record is kept here. */
  kill(): Promise<void>;
  /** Starts it on the same port: it knows no token, event or upload address of before. */
  restart(): Promise<void>;
  stop(): Promise<void>;
  lines(): readonly string[];
}

export async function startCloudProcess(options: {
  main: string;
  port: number;
  keyFile: string;
  clientId: string;
  line: Line;
}): Promise<CloudProcess> {
  const { line, port } = options;
  const url = `http://127.0.0.1:${port}`;
  let running: Running | undefined;
  let pastEvents: readonly Accepted[] = [];
  let pastUploads: readonly Upload[] = [];

  async function run(): Promise<void> {
    const started = startProcess({
      name: 'sandbox',
      args: [
        ...[options.main, 'sandbox', '--listen', `127.0.0.1:${port}`, '--control', '--json'],
        ...['--client', `${options.clientId}=${options.keyFile}`, '--public-url', line.url],
      ],
    });
    running = started;
    await started.until((text) => (text.includes('"listen"') ? true : undefined), 'start');
  }

  async function control(
    path: string,
    { method = 'GET', body }: { method?: 'GET' | 'POST' | 'DELETE'; body?: object } = {},
  ) {
    const answer = await request(`${url}/__sandbox/${path}`, {
      method,
      ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300)
      throw new Error(`the sandbox answered ${answer.statusCode} to ${path}: ${text.slice(0, 200)}`);
    return JSON.parse(text) as unknown;
  }

  async function events(): Promise<readonly Accepted[]> {
    if (running === undefined) return pastEvents;
    const answer = (await control('events')) as { events: Accepted[]; dropped: number };
    if (answer.dropped > 0) throw new Error('the sandbox has forgotten events; the record is not complete');
    return merged(pastEvents, answer.events);
  }

  async function uploads(): Promise<readonly Upload[]> {
    if (running === undefined) return pastUploads;
    return [...pastUploads, ...((await control('uploads')) as { uploads: Upload[] }).uploads];
  }

  async function kill(): Promise<void> {
    if (running === undefined) return;
    await line.cut();
    // What was on its way when the line was cut may still be taken; the record is read when it stands still.
    let count = -1;
    await eventually('the record of the cut-off sandbox stands still', async () => {
      const now = (await events()).length + (await uploads()).length;
      const still = now === count;
      count = now;
      return still ? true : undefined;
    });
    [pastEvents, pastUploads] = [await events(), await uploads()];
    const ending = running;
    running = undefined;
    await ending.kill();
  }

  await run();
  await line.connect(url);
  return {
    url,
    get pid() {
      return running?.pid;
    },
    events,
    uploads,
    control,
    kill,
    async restart() {
      await kill();
      await run();
      await line.connect(url);
      await line.restore();
    },
    async stop() {
      await running?.stop();
      running = undefined;
    },
    lines: () => running?.lines() ?? [],
  };
}

/** What a later sandbox accepted, behind what earlier ones had; an event both have is one, identical or not. */
function merged(past: readonly Accepted[], now: readonly Accepted[]): readonly Accepted[] {
  const byId = new Map(past.map((event) => [event.event_id, event]));
  for (const event of now) {
    const known = byId.get(event.event_id);
    const seq = known?.seq ?? byId.size + 1;
    const identical = known === undefined ? event.identical : known.identical && event.identical && same(known, event);
    const first = known ?? event;
    byId.set(event.event_id, { ...first, seq, identical, try_count: event.try_count + (known?.try_count ?? 0) });
  }
  return [...byId.values()];
}

const same = (a: Accepted, b: Accepted): boolean => withoutSentAt(a) === withoutSentAt(b);
const withoutSentAt = ({ body }: Accepted): string => JSON.stringify({ ...body, sent_at: '' });
