import type { Context, Hono } from 'hono';
import { uploadCap } from './resources/uploads.ts';
import type { CloudState } from './state.ts';

/**
 * Lets a cut upload go on where it was cut, if `upload_resume` is `content_range`: what arrived before the cut is kept,
 * `Content-Range: bytes *` + `/N` asks how much that is, 308 with `Range: bytes=0-K` answers, and `bytes K+1-L/N` brings
 * the rest. The complete content then goes the way of every other upload.
 */
export function resumeUploads(app: Hono, state: CloudState): void {
  if (state.dialect.upload_resume !== 'content_range') return;
  app.put('/uploads/:folder/:token', async (context, next) => {
    const token = context.req.param('token');
    const slot = state.uploads.slot(token);
    if (slot === undefined || state.now() >= slot.expiresAt) return next();
    const range = readRange(context.req.header('content-range'));
    if (range === 'none') {
      state.uploads.hold(token, new Uint8Array());
      return (await takeBody(context, state, token)) === undefined ? lineDied() : next();
    }
    const held = state.uploads.held(token);
    if (range === undefined) return new Response(null, { status: 400 });
    if (range.from === undefined || range.from > held.length) return incomplete(held.length);
    state.uploads.hold(token, held.subarray(0, range.from));
    const whole = await takeBody(context, state, token);
    if (whole === undefined) return lineDied();
    return whole.length < range.total ? incomplete(whole.length) : next();
  });
}

/** Keeps each chunk as it comes. Undefined when the line is cut: what came stays. Otherwise the request has it all. */
async function takeBody(context: Context, state: CloudState, token: string): Promise<Uint8Array | undefined> {
  const { raw } = context.req;
  let whole = state.uploads.held(token);
  try {
    for await (const chunk of raw.body ?? []) {
      whole = Buffer.concat([whole, chunk as Uint8Array]);
      if (whole.length <= uploadCap) state.uploads.hold(token, whole);
    }
  } catch {
    return undefined;
  }
  const { method, headers } = raw;
  context.req.raw = new Request(raw.url, { method, headers: new Headers(headers), body: whole as never });
  return whole;
}

/** Nobody reads it. */
const lineDied = (): Response => new Response(null, { status: 400 });

const incomplete = (bytes: number): Response =>
  new Response(null, { status: 308, headers: bytes === 0 ? {} : { range: `bytes=0-${bytes - 1}` } });

/** `from` is absent in the question; undefined for what is no range of bytes. */
function readRange(header: string | undefined): { from?: number; total: number } | 'none' | undefined {
  if (header === undefined) return 'none';
  const [, from, , total] = /^bytes (?:(\d{1,12})-(\d{1,12})|\*)\/(\d{1,12})$/.exec(header) ?? [];
  if (total === undefined) return undefined;
  return from === undefined ? { total: Number(total) } : { from: Number(from), total: Number(total) };
}
