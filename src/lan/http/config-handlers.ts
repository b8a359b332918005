import type { By } from '#lan/access/index.ts';
import type { Handlers } from '#lib/contract/server.ts';
import type { Asker } from '#site/model/index.ts';
import { askerOf, json } from './answering.ts';
import type { ConfigChangesBody, ConfigSaved } from './config-changes.ts';
import type { ConfigChecked, ConfigShown, configOperations } from './config-operations.ts';

export interface ConfigPort {
  show(): Promise<ConfigShown>;
  /** Rejects with `queue_full` while another text is being checked. */
  check(yaml: string, signal: AbortSignal): Promise<ConfigChecked>;
  /**
   * Rejects with `config_changed` where the file is not that of `version` any more, `config_invalid` with all that would be
   * wrong, `config_refused` while a partition is armed, `config_readonly`, and `queue_full` while another is under way.
   */
  change(wish: ConfigChangesBody, by: Asker, signal: AbortSignal): Promise<ConfigSaved>;
}

export function configHandlers(port: ConfigPort): Handlers<typeof configOperations, By> {
  return {
    getConfig: async () => json(await port.show()),
    checkConfig: async ({ body, signal }) => json(await port.check(body.yaml, signal)),
    changeConfig: async ({ body, identity, signal }) => json(await port.change(body, askerOf(identity), signal)),
  };
}
