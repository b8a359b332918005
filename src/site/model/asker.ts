import { localClient } from './command.ts';

/** Who asks for something over the LAN API, as limits and the audit log know them. */
export interface Asker {
  /** `cli`: the control socket. */
  readonly source: 'cli' | 'lan';
  /** `localClient`, `account:ID` or `key:ID`. */
  readonly client: string;
  /** Network address it came from. */
  readonly address?: string;
}

export const localAsker: Asker = { source: 'cli', client: localClient };
