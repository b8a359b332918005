import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ApiError, createApi, LateError, OfflineError, StrangeError } from '#lan/page/api.ts';
import { errorText } from '#lan/page/error-text.ts';
import { wordsOf } from '#lan/page/text.ts';

/** An answer whose parts come when the test says so. */
let body: ReadableStreamDefaultController<Uint8Array>;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const answers = (answer: (signal: AbortSignal) => Response | Promise<Response>) =>
  vi.stubGlobal('fetch', async (_path: string, { signal }: { signal: AbortSignal }) => answer(signal));
const slow = () =>
  answers((signal) => {
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        body = controller;
        signal.addEventListener('abort', () => controller.error(signal.reason));
      },
    });
    return new Response(stream, { headers: { 'content-type': 'application/json' } });
  });
const silent = () =>
  answers((signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))));
const api = createApi(() => undefined);
const failure = (of: Promise<unknown>) => of.then(() => undefined).catch((error: unknown) => error);
const english = wordsOf('en');

test('an answer may take long, as long as some of it comes', async () => {
  slow();
  const seen: number[] = [];
  const asked = api.ask('/report', { onBytes: (count) => seen.push(count) });
  for (const part of ['{"a"', ':', '1}']) {
    await vi.advanceTimersByTimeAsync(14_000);
    body.enqueue(new TextEncoder().encode(part));
  }
  await vi.advanceTimersByTimeAsync(14_000);
  body.close();
  expect(await asked).toEqual({ a: 1 });
  expect(seen).toEqual([4, 5, 7]);
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  ['before it begins', silent],
  ['in its midst', slow],
])('an answer that stops %s is told as one that did not come in time', async (_when, begin) => {
  begin();
  const failed = failure(api.bytes('/report'));
  await vi.advanceTimersByTimeAsync(15_000);
  const error = await failed;
  expect(error).toBeInstanceOf(LateError);
  expect(errorText(error, english)).toMatch(/^No answer in time/);
});

test('a line that breaks while the answer comes is one that is cut', async () => {
  slow();
  const failed = failure(api.ask('/report'));
  await vi.advanceTimersByTimeAsync(0);
  body.error(new TypeError('network error'));
  expect(await failed).toBeInstanceOf(OfflineError);
});

test('whoever asked may stop it, and hears no other reason', async () => {
  silent();
  const ending = new AbortController();
  const failed = failure(api.ask('/report', { signal: ending.signal }));
  ending.abort('left');
  expect(await failed).toBe('left');
});

const html = (status: number) => new Response('<h1>hello</h1>', { status, headers: { 'content-type': 'text/html' } });
test.each([
  ['a login page', () => html(200)],
  ['a gateway', () => html(502)],
  ['no JSON', () => new Response('{"a"', { headers: { 'content-type': 'application/json' } })],
  ['nothing', () => new Response('null', { headers: { 'content-type': 'application/json' } })],
])('what is not an answer of the bridge is told as that: %s', async (_what, answer) => {
  answers(answer);
  const error = await failure(api.ask('/commands', { method: 'POST', body: {} }));
  expect(error).toBeInstanceOf(StrangeError);
  expect(errorText(error, english)).toContain('a proxy or a login page');
});

test('a refusal is told in the words of the bridge', async () => {
  const problem = { status: 409, code: 'conflict', title: 'Conflict', detail: 'it is so already' };
  answers(() => Response.json(problem, { status: 409, headers: { 'content-type': 'application/problem+json' } }));
  const error = await failure(api.ask('/x'));
  expect(error).toBeInstanceOf(ApiError);
  expect(errorText(error, english)).toBe('it is so already');
});
