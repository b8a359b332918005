import { randomUUID } from 'node:crypto';
import type { Transport, WireRequest } from '#lib/contract/client.ts';
import type { TokenSource } from './token.ts';

/**
 * Adds the credential an operation needs, and the trace id (S-199). After a 401 the token is dropped and the request
 * sent once more with a new one (S-040); a second 401 is the caller's. A 403 never costs a token.
 */
export function authorised(transport: Transport, sources: Readonly<Record<string, TokenSource>>): Transport {
  return async (request) => {
    const traced = withHeader(request, 'x-partner-trace-id', request.headers['x-partner-trace-id'] ?? randomUUID());
    const source = request.operation.auth.map((kind) => sources[kind]).find((found) => found !== undefined);
    if (source === undefined) return transport(traced);
    for (let tries = 1; ; tries += 1) {
      const token = await source.get(request.signal);
      if (token.kind === 'failure') return token;
      const answer = await transport(withHeader(traced, 'authorization', `Bearer ${token.value.reveal()}`));
      if (answer.kind === 'failure' || answer.status !== 401) return answer;
      source.invalidate(token.generation);
      if (tries === 2) return answer;
    }
  };
}

const withHeader = (request: WireRequest, name: string, value: string): WireRequest => ({
  ...request,
  headers: { ...request.headers, [name]: value },
});
