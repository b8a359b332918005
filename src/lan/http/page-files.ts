import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Logger } from 'pino';
import { describe } from '#errors.ts';

/** A file of the technician page by its path on the bridge. */
export interface PageFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

interface Served {
  readonly plain: Uint8Array;
  readonly packed: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  readonly etag: string;
}

/** Answers a request for a file of the page, which anybody may read; false, and no answer, for every other one. */
export type ServePage = (incoming: IncomingMessage, outgoing: ServerResponse) => boolean;

/**
 * The files are loaded when somebody first asks for one. Nothing on the disk is looked for by what a request names: there are their
 * paths and no others.
 */
export function pageServer(load: () => Promise<readonly PageFile[]>, log: Logger): ServePage {
  let loading: Promise<ReadonlyMap<string, Served>> | undefined;

  async function files(): Promise<ReadonlyMap<string, Served>> {
    const found = await load();
    return new Map(await Promise.all(found.map(async (file) => [file.path, await prepared(file)] as const)));
  }

  return (incoming, outgoing) => {
    const { method, url = '' } = incoming;
    const [path = ''] = url.split('?');
    const isOfPage = path === '/' || path === '/favicon.ico' || path.startsWith('/assets/');
    if ((method !== 'GET' && method !== 'HEAD') || !isOfPage) return false;
    loading ??= files();
    loading.then(
      (all) => answer(all.get(path), incoming, outgoing),
      (error: unknown) => {
        loading = undefined;
        log.warn({ reason: describe(error) }, 'the technician page cannot be served');
        say(outgoing, 503, 'The page of this bridge cannot be read. Its log says why.');
      },
    );
    return true;
  };
}

function answer(found: Served | undefined, { method, headers }: IncomingMessage, outgoing: ServerResponse): void {
  if (found === undefined) {
    say(outgoing, 404, 'There is no such file. Load the page again.');
    return;
  }
  if (headers['if-none-match'] === found.etag) {
    outgoing.writeHead(304, found.headers).end();
    return;
  }
  const takesPacked = /\bgzip\b/.test(String(headers['accept-encoding'] ?? ''));
  const bytes = takesPacked ? found.packed : found.plain;
  const packed = takesPacked ? { 'content-encoding': 'gzip' } : {};
  outgoing.writeHead(200, { ...found.headers, ...packed, 'content-length': bytes.length });
  outgoing.end(method === 'HEAD' ? undefined : bytes);
}

function say(outgoing: ServerResponse, status: number, text: string): void {
  outgoing.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }).end(text);
}

const pack = promisify(gzip);

async function prepared({ path, bytes }: PageFile): Promise<Served> {
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
  // What the name of an asset says of its bytes never changes; the document names the assets of now.
  const isAsset = path.startsWith('/assets/');
  return {
    etag,
    plain: bytes,
    packed: await pack(bytes, { level: 9 }),
    headers: {
      etag,
      vary: 'accept-encoding',
      'content-type': types[/\.(\w+)$/.exec(path)?.[1] ?? 'html'] ?? 'application/octet-stream',
      'cache-control': isAsset ? 'public, max-age=31536000, immutable' : 'no-cache',
    },
  };
}

const types: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  // The icon of the page, by its old name.
  ico: 'image/svg+xml',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};
