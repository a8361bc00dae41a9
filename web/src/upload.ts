// A request that sends a file, and says how far it is: fetch cannot.
import { LostError } from "./api";

/** One attempt at an upload. */
export function post(address: string, access: string, form: FormData, sent: (share: number) => void, signal: AbortSignal): Promise<Response> {
  return new Promise((resolve, reject) => {
    const x = new XMLHttpRequest();
    x.open("POST", address);
    x.setRequestHeader("Authorization", `Bearer ${access}`);
    x.upload.onprogress = (e) => e.lengthComputable && sent(e.loaded / e.total);
    x.onload = () => {
      const headers = new Headers();
      for (const name of ["Content-Type", "Retry-After"]) {
        const value = x.getResponseHeader(name);
        if (value !== null) headers.set(name, value);
      }
      resolve(new Response(x.responseText, { status: x.status, headers }));
    };
    x.onerror = () => reject(new LostError("the server does not answer"));
    x.onabort = () => reject(signal.reason);
    signal.addEventListener("abort", () => x.abort());
    x.send(form);
  });
}
