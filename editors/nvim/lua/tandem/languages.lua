--- Asks the other language servers of Neovim about code, for the server: tandem/editor/request.
local documents = require('tandem.documents')

local M = {}

local modern = vim.fn.has('nvim-0.11') == 1
local PUBLISH = 'textDocument/publishDiagnostics'
local DIAGNOSTIC = 'textDocument/diagnostic'
local ACTION, RESOLVE = 'textDocument/codeAction', 'codeAction/resolve'

--- The changedtick of the text that a server's diagnostics are about, by client and document, where it says that.
---@type table<integer, table<string, integer>>
local published = {}

--- Notes which text each publication of diagnostics is about. Neovim keeps the diagnostics and not that.
function M.listen()
  local show = vim.lsp.handlers[PUBLISH]
  vim.lsp.handlers[PUBLISH] = function(err, result, context, ...)
    if result and result.uri and context then
      published[context.client_id] = published[context.client_id] or {}
      published[context.client_id][result.uri] = type(result.version) == 'number' and result.version or nil
    end
    return show(err, result, context, ...)
  end
end

---@param client vim.lsp.Client
---@param method string
---@return boolean
local function supports(client, method)
  if modern then
    return client:supports_method(method)
  end
  return client.supports_method(method)
end

---@param client vim.lsp.Client
---@param ... any
---@return boolean sent
local function request(client, ...)
  if modern then
    return (client:request(...))
  end
  return (client.request(...))
end

---@param client vim.lsp.Client
---@param ... any
local function notify(client, ...)
  if modern then
    client:notify(...)
  else
    client.notify(...)
  end
end

--- Whether a client that is attached to other buffers would be attached to a file.
---@param client vim.lsp.Client
---@param path string
---@param filetype? string
---@return boolean
local function serves(client, path, filetype)
  local root = client.config.root_dir
  if type(root) ~= 'string' or not filetype or not vim.startswith(path, vim.fs.normalize(root) .. '/') then
    return false
  end
  if vim.list_contains(client.config.filetypes or {}, filetype) then
    return true
  end
  for buf in pairs(client.attached_buffers) do
    if vim.bo[buf].filetype == filetype then
      return true
    end
  end
  return false
end

---@param filter? vim.lsp.get_clients.Filter
---@return vim.lsp.Client[]
local function others(filter)
  return vim.tbl_filter(function(client)
    return client.name ~= 'tandem'
  end, vim.lsp.get_clients(filter))
end

--- The clients that serve a file, and whether the file is open in them; those of a folder are all.
---@param path string
---@param buf? integer
---@return vim.lsp.Client[]
---@return boolean open
local function clients_of(path, buf)
  local all = others(buf and { bufnr = buf } or nil)
  if buf or vim.fn.isdirectory(path) == 1 then
    return all, true
  end
  local filetype = vim.filetype.match({ filename = path })
  return vim.tbl_filter(function(client)
    return serves(client, path, filetype)
  end, all), false
end

--- How many units of an encoding a part of a line has.
---@param part string
---@param encoding string
---@return integer
local function units(part, encoding)
  if encoding == 'utf-16' then
    return vim.fn.strutf16len(part)
  end
  return encoding == 'utf-32' and vim.fn.strchars(part) or #part
end

--- Parameters whose positions, which count bytes, are made those of an encoding.
---@param params any
---@param lines string[]
---@param encoding string
---@return any
local function translate(params, lines, encoding)
  if type(params) ~= 'table' or encoding == 'utf-8' then
    return params
  end
  if type(params.line) == 'number' and type(params.character) == 'number' then
    local line = lines[params.line + 1] or ''
    return { line = params.line, character = units(line:sub(1, params.character), encoding) }
  end
  return setmetatable(
    vim.tbl_map(function(value)
      return translate(value, lines, encoding)
    end, params),
    getmetatable(params)
  )
end

---@param d vim.Diagnostic
---@return table
local function as_sent(d)
  local sent = vim.tbl_get(d, 'user_data', 'lsp') or {}
  return {
    range = {
      start = { line = d.lnum, character = d.col },
      ['end'] = { line = d.end_lnum or d.lnum, character = d.end_col or d.col },
    },
    severity = d.severity,
    source = d.source,
    code = d.code or sent.code,
    message = d.message,
  }
end

--- What a client has published about a buffer, as the answer to a request for it. Neovim counts bytes.
---@param client vim.lsp.Client
---@param buf integer
---@return table
local function report(client, buf)
  local space = vim.lsp.diagnostic.get_namespace(client.id)
  local items = vim.tbl_map(as_sent, vim.diagnostic.get(buf, { namespace = space }))
  return { kind = 'full', items = items, uri = vim.uri_from_bufnr(buf) }
end

--- The version that the server knows of a buffer whose text a client's diagnostics are about: an older one where it is another text, nil
--- where that is not known.
---@param docs tandem.Documents
---@param client vim.lsp.Client
---@param buf integer
---@return integer?
local function version(docs, client, buf)
  local tick = vim.tbl_get(published, client.id, vim.uri_from_bufnr(buf))
  local doc = docs:get(buf)
  if doc and tick then
    return tick == vim.api.nvim_buf_get_changedtick(buf) and doc.version or doc.version - 1
  end
end

--- What a client holds against the range of a request for code actions, as it sent it: repairs are offered for that.
---@param client vim.lsp.Client
---@param buf? integer
---@param range lsp.Range
---@return table[]
local function faults(client, buf, range)
  local found = {}
  for _, d in ipairs(buf and vim.diagnostic.get(buf, { namespace = vim.lsp.diagnostic.get_namespace(client.id) }) or {}) do
    local sent = vim.tbl_get(d, 'user_data', 'lsp')
    if sent and sent.range and d.lnum <= range['end'].line and (d.end_lnum or d.lnum) >= range.start.line then
      found[#found + 1] = sent
    end
  end
  return found
end

--- Has a client give the actions of a title their edit, where it resolves them.
---@param client vim.lsp.Client
---@param actions? table[]
---@param title? string
---@param buf? integer
---@param done fun(actions: table[]?)
local function resolve(client, actions, title, buf, done)
  local at ---@type integer?
  for i, action in ipairs(title and supports(client, RESOLVE) and actions or {}) do
    if not at and action.title == title and not action.edit and type(action.command) ~= 'string' then
      at = i
    end
  end
  local sent = at
    and request(client, RESOLVE, actions[at], function(_, resolved)
      actions[at] = resolved or actions[at]
      done(actions)
    end, buf)
  if not sent then
    done(actions)
  end
end

--- How long a client may take, in milliseconds; the replies of the others are sent then.
local PATIENCE = 20000

---@param docs tandem.Documents
---@param params tandem.EditorRequestParams
---@param done fun(result: tandem.EditorRequestResult)
function M.ask(docs, params, done)
  local path, method = vim.uri_to_fname(params.uri), params.method
  local buf = documents.buffer(path)
  if buf and #others({ bufnr = buf }) == 0 then
    buf = nil -- it was loaded without autocommands
  end
  local clients, open = clients_of(path, buf)
  local results = {} ---@type tandem.EditorReply[]
  local pending = 1
  local over = false
  local function ended()
    pending = pending - 1
    if pending == 0 and not over then
      over = true
      done({ results = results })
    end
  end
  local lines = buf and vim.api.nvim_buf_get_lines(buf, 0, -1, false) or nil
  for _, client in ipairs(clients) do
    local asked = { server = client.name, positionEncoding = client.offset_encoding } ---@type tandem.EditorReply
    if method == 'workspace/diagnostic' then
      local items = {}
      for _, b in ipairs(vim.api.nvim_list_bufs()) do
        local about = report(client, b)
        items[#items + 1] = #about.items > 0 and about or nil
      end
      asked.positionEncoding, asked.result = 'utf-8', { items = items }
      results[#results + 1] = asked
    elseif method == DIAGNOSTIC and not supports(client, DIAGNOSTIC) then
      local known = buf or vim.fn.bufnr(path)
      if known > 0 and vim.api.nvim_buf_is_valid(known) then
        asked.positionEncoding, asked.result, asked.version = 'utf-8', report(client, known), version(docs, client, known)
      else
        asked.result = { kind = 'full', items = {} }
      end
      results[#results + 1] = asked
    elseif supports(client, method) then
      local document = not open and { uri = params.uri } or nil
      if document then
        lines = lines or vim.fn.readfile(path)
        notify(client, 'textDocument/didOpen', {
          textDocument = {
            uri = params.uri,
            languageId = vim.filetype.match({ filename = path }) or '',
            version = 0,
            text = table.concat(lines, '\n') .. '\n',
          },
        })
      end
      local doc = buf and docs:get(buf)
      asked.version = method == DIAGNOSTIC and (doc and doc.version or not doc and 0) or nil
      pending = pending + 1
      local wanted = translate(params.params, lines or {}, client.offset_encoding)
      if method == ACTION then
        wanted.context.diagnostics = faults(client, buf, wanted.range)
      end
      local sent = request(client, method, wanted, function(_, result)
        resolve(client, result, method == ACTION and params.resolve or nil, buf, function(whole)
          if document then
            notify(client, 'textDocument/didClose', { textDocument = document })
          end
          asked.result = whole == nil and vim.NIL or whole
          results[#results + 1] = asked
          ended()
        end)
      end, buf)
      if not sent then
        ended()
      end
    end
  end
  vim.defer_fn(function()
    if not over then
      over = true
      done({ results = results })
    end
  end, PATIENCE)
  ended()
end

return M
