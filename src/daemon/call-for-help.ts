import { localClient } from '#site/model/index.ts';
import type { House } from './house.ts';

/** A duress code was given where no command is: only the station and the auditor learn of it (safety 4). */
export function callForHelp(house: House, actor: string, target: string): void {
  void house.controller?.tell({ kind: 'duress', source: 'cli', client: localClient, actor, target });
}
