import { createServer, type Server } from 'node:net';
import type { Line } from '#sandbox/demo/line.ts';

/** The cut-able line, with somebody at its broken end who counts who still knocks. */
export interface CountingLine {
  readonly isCut: boolean;
  cut(how: 'refused' | 'reset'): Promise<void>;
  /** Connections that were tried since the cut; 0 for a line that refuses, where nobody can count. */
  restore(): Promise<number>;
}

interface End {
  server: Server | undefined;
  count: number;
}

export function countingLine(line: Line): CountingLine {
  let end: End | undefined;
  return {
    get isCut() {
      return end !== undefined;
    },
    async cut(how) {
      if (end !== undefined) return;
      await line.cut();
      const cutNow: End = { server: undefined, count: 0 };
      end = cutNow;
      if (how === 'refused') return;
      const server = createServer((socket) => {
        cutNow.count += 1;
        socket.on('error', () => undefined);
        socket.resetAndDestroy();
      });
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(Number(new URL(line.url).port), '127.0.0.1', () => resolve());
      });
      cutNow.server = server;
    },
    async restore() {
      if (end === undefined) return 0;
      const { server, count } = end;
      end = undefined;
      if (server !== undefined) await new Promise((resolve) => server.close(resolve));
      await line.restore();
      return count;
    },
  };
}
