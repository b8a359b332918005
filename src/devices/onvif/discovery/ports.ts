import { connect } from 'node:net';

/** Where ONVIF devices listen that were not found by WS-Discovery, and who needs it; in the order they are tried. */
export const usualPorts: readonly { readonly port: number; readonly scheme: 'http' | 'https'; readonly who: string }[] =
  [
    { port: 80, scheme: 'http', who: 'most' },
    { port: 8000, scheme: 'http', who: 'Reolink' },
    { port: 8080, scheme: 'http', who: 'boards of HiSilicon, ONVIF servers on a computer' },
    { port: 2020, scheme: 'http', who: 'TP-Link Tapo and VIGI' },
    { port: 8899, scheme: 'http', who: 'boards of XM (XMEye), TVT' },
    { port: 580, scheme: 'http', who: 'Milestone Open Network Bridge' },
    { port: 5000, scheme: 'http', who: 'cameras made for P2P apps' },
    { port: 443, scheme: 'https', who: 'any with http switched off' },
  ];

interface KnockOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * What becomes of a connection: `refused` is an answer too, so that somebody lives there; `silent` is none within the time.
 * Never rejects.
 */
export function knock(host: string, port: number, options: KnockOptions): Promise<'open' | 'refused' | 'silent'> {
  return new Promise((resolve) => {
    const { timeoutMs, signal } = options;
    if (signal.aborted) return resolve('silent');
    const socket = connect({ host, port });
    const end = (result: 'open' | 'refused' | 'silent') => {
      clearTimeout(timer);
      signal.removeEventListener('abort', aborted);
      socket.destroy();
      resolve(result);
    };
    const aborted = () => end('silent');
    const timer = setTimeout(end, timeoutMs, 'silent' as const);
    signal.addEventListener('abort', aborted, { once: true });
    socket.once('connect', () => end('open'));
    socket.on('error', (error: NodeJS.ErrnoException) =>
      end(error.code === 'ECONNREFUSED' || error.code === 'ECONNRESET' ? 'refused' : 'silent'),
    );
  });
}

/** Whether somebody takes a connection there within the time. Never rejects. */
export const isOpen = async (host: string, port: number, options: KnockOptions): Promise<boolean> =>
  (await knock(host, port, options)) === 'open';
