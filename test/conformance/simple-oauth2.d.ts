/** The package has no types of its own; this is what the test uses. */
declare module 'simple-oauth2' {
  export interface Options {
    readonly client: { readonly id: string; readonly secret: string };
    readonly auth: { readonly tokenHost: string; readonly tokenPath: string };
    readonly options?: { readonly authorizationMethod?: 'header' | 'body' };
  }
  export class ClientCredentials {
    constructor(options: Options);
    getToken(params: object): Promise<{ readonly token: Readonly<Record<string, unknown>>; expired(): boolean }>;
  }
}
