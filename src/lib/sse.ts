/** One message of a stream of server-sent events (WHATWG HTML, 9.2.5). */
export interface ServerSentEvent {
  /** A name of letters; a browser tells a page of named events only. */
  readonly event?: string;
  /** Where whoever lost the stream goes on. Without `event` it is kept, and nothing is told to the page. */
  readonly id?: number;
  /** Becomes JSON, in which no line ends. */
  readonly data?: unknown;
  readonly retryMs?: number;
}

export function sseBytes({ event, id, data, retryMs }: ServerSentEvent): Uint8Array {
  const lines = [
    retryMs === undefined ? [] : `retry: ${retryMs}`,
    event === undefined ? [] : `event: ${event}`,
    id === undefined ? [] : `id: ${id}`,
    data === undefined ? [] : `data: ${JSON.stringify(data)}`,
  ].flat();
  return Buffer.from(`${lines.join('\n')}\n\n`);
}
