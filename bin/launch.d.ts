export declare const isFromSource: boolean
export declare const mainFile: string
export declare const nodeFlags: string[]
export declare const environment: Record<string, string>
export declare function launch(file: string, fileArguments: string[], options?: { stopsWithParent?: boolean }): void
