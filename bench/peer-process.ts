import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import Database from 'better-sqlite3';

export const inFlight = 32;

/** Messages that are on their way to a peer's disk. */
export interface Writing {
  /** How many were acknowledged so far. */
  acked(): number;
  /** From now on one at a time. */
  slower(): void;
  /** SIGKILL to what this started. */
  kill(): Promise<void>;
}

export interface Peer {
  readonly name: string;
  /** Why it cannot be measured here. */
  missing(): string | undefined;
  write(dir: string): Promise<Writing>;
  /** Acknowledged messages that are there after the cut. */
  kept(dir: string, acked: number): Promise<number>;
}

/** Stores that live in the process of their user. */
export function inProcess(libraries: { folder: string; missing: string | undefined }): Peer[] {
  const make = (name: string, kind: string, file: string, texts: string): Peer => {
    let acked: ReadonlySet<number> = new Set();
    return {
      name,
      missing: () => (kind === 'siteward' ? undefined : libraries.missing),
      async write(dir) {
        const { writing, seen } = await child(kind, dir, libraries.folder);
        acked = seen;
        return writing;
      },
      async kept(dir) {
        const found = numbersIn(join(dir, file), texts);
        return [...acked].filter((n) => found.has(n)).length;
      },
    };
  };
  return [
    make('siteward', 'siteward', 'site.db', 'SELECT seq FROM ev'),
    make('plainjob', 'plainjob', 'queue.db', 'SELECT data FROM plainjob_jobs'),
    make('liteque', 'liteque', 'queue.db', 'SELECT payload FROM tasks'),
  ];
}

/** The number each message begins with, or is. An empty set when the table did not outlive the cut. */
function numbersIn(path: string, query: string): Set<number> {
  const db = new Database(path);
  try {
    const values = db.prepare<[], unknown>(query).pluck().all();
    return new Set(values.map((value) => Number(/\d+/.exec(String(value))?.[0])));
  } catch {
    return new Set();
  } finally {
    db.close();
  }
}

async function child(kind: string, dir: string, libraries: string) {
  const script = join(import.meta.dirname, 'peer-child.ts');
  const process_ = spawn(process.execPath, [script, kind, dir, libraries], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, IN_FLIGHT: String(inFlight) },
  });
  const seen = new Set<number>();
  const lines = createInterface({ input: process_.stdout });
  const first = new Promise<void>((resolve) => {
    lines.on('line', (line) => {
      for (const n of line.split(' ')) seen.add(Number(n));
      resolve();
    });
  });
  const ended = new Promise<void>((resolve) => process_.once('exit', () => resolve()));
  await Promise.race([first, ended]);
  if (process_.exitCode !== null) throw new Error(`${kind} does not start`);
  const writing: Writing = {
    acked: () => seen.size,
    slower: () => void process_.stdin.write('\n'),
    async kill() {
      process_.stdin.on('error', () => undefined);
      process_.kill('SIGKILL');
      await ended;
    },
  };
  return { writing, seen };
}
