declare module 'onvif/lib/utils.js' {
  export function parseSOAPString(
    xml: string,
    callback: (error: Error | null, data?: unknown, xml?: string, status?: number) => void,
    status?: number,
  ): void;
}
