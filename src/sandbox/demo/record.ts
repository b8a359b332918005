import { request } from 'undici';

/** What the sandbox recorded, read through its control path: the cloud's side of the story. */
export interface CloudEvent {
  readonly event_id: string;
  readonly event_type: string;
  readonly upload_snapshot_count: number;
  readonly should_signal_to_monitoring_center: boolean;
  readonly payload: {
    readonly kind: string;
    readonly seq: number;
    readonly partition?: string;
    readonly zone?: string;
  };
}

export interface CloudUpload {
  readonly event_id: string;
  readonly kind: string;
  readonly index: number;
  readonly bytes: number;
}

export interface CloudRecord {
  /** In the order of acceptance. */
  events(): Promise<readonly CloudEvent[]>;
  uploads(): Promise<readonly CloudUpload[]>;
  reset(): Promise<void>;
}

export function cloudRecord(url: string): CloudRecord {
  async function read(path: string): Promise<Record<string, unknown>> {
    const { statusCode, body } = await request(`${url}/__sandbox/${path}`, {
      method: path === 'reset' ? 'POST' : 'GET',
    });
    const text = await body.text();
    if (statusCode >= 300) throw new Error(`the sandbox answered ${statusCode} to ${path}: ${text.slice(0, 200)}`);
    return JSON.parse(text) as Record<string, unknown>;
  }
  return {
    async events() {
      const { events } = (await read('events')) as { events: { body: CloudEvent }[] };
      return events.map(({ body }) => body);
    },
    async uploads() {
      return ((await read('uploads')) as { uploads: CloudUpload[] }).uploads;
    },
    async reset() {
      await read('reset');
    },
  };
}
