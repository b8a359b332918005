import type { Server } from 'node:net';

/** Resolves once the server takes connections there; rejects with what the system says, such as EADDRINUSE. */
export function listening(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
