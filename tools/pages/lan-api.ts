import { lanDocument } from '#lan/http/index.ts';
import { yamlPage } from './openapi.ts';

/** `docs/openapi/lan.yaml`. */
export const lanApi = (): string => yamlPage('src/lan/http/operations.ts', lanDocument());
