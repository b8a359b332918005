import type { By } from '#lan/access/index.ts';
import type { Handlers } from '#lib/contract/server.ts';
import type { Asker } from '#site/model/index.ts';
import { askerOf, json } from './answering.ts';
import type { LogLevelsBody, LogLevelsShown, LogPage, LogQuery, logOperations } from './log-operations.ts';

export interface LogPort {
  read(query: LogQuery): LogPage;
  levels(): LogLevelsShown;
  /** Throws `log_part_unknown`. */
  setLevels(wish: LogLevelsBody, by: Asker): LogLevelsShown;
}

export function logHandlers(port: LogPort): Handlers<typeof logOperations, By> {
  return {
    getLog: ({ query }) => json(port.read(query)),
    getLogLevels: () => json(port.levels()),
    setLogLevels: ({ body, identity }) => json(port.setLevels(body, askerOf(identity))),
  };
}
