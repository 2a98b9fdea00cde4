--- One server for each workspace: starting it, its session, and what it asks of the editor.
local api = vim.api

local M = {}

-- From 0.11 on, a client's functions are methods and it can be started without a buffer.
local modern = vim.fn.has('nvim-0.11') == 1

---@class tandem.Instance
---@field root string
---@field chat tandem.Chat
---@field documents? tandem.Documents
---@field session? string
---@field running boolean a turn is running
---@field private client? vim.lsp.Client
---@field private id? integer
---@field private waiting fun(err?: string)[]
---@field private stop_following? fun()
local Instance = {}
Instance.__index = Instance

local instances = {} ---@type table<string, tandem.Instance>
local chats = {} ---@type table<string, tandem.Chat> they outlive the servers
local last ---@type tandem.Instance?

--- Takes the nulls out of what JSON became: Neovim's versions differ in what they make of them.
---@generic T
---@param value T
---@return T
local function clean(value)
  if value == vim.NIL then
    return nil
  elseif type(value) ~= 'table' then
    return value
  end
  for key, item in pairs(value) do
    value[key] = clean(item)
  end
  return value
end

--- Waits inside a server's request until `start` has called its callback: Neovim runs those requests in coroutines.
---@param start fun(done: fun(value: any))
---@return any
local function await(start)
  local co = assert(coroutine.running())
  local value, done, yielded
  start(function(v)
    value, done = v, true
    if yielded then
      local ok, err = coroutine.resume(co)
      if not ok then
        error(err, 0)
      end
    end
  end)
  if not done then
    yielded = true
    coroutine.yield()
  end
  return value
end

--- The root of the workspace that a buffer belongs to.
---@param buf integer
---@return string
function M.root(buf)
  local cwd = vim.fs.normalize(assert(vim.uv.cwd()))
  local name = api.nvim_buf_get_name(buf)
  if vim.bo[buf].buftype ~= '' or name == '' then
    return cwd
  end
  local marked = vim.fs.root(buf, require('tandem.config').get().root_markers)
  if marked then
    return marked
  end
  local dir = vim.fs.dirname(vim.fs.normalize(name))
  return (dir == cwd or vim.startswith(dir, cwd .. '/')) and cwd or dir
end

--- The instance that a command in this buffer is meant for: that of its workspace, or else the one used last.
---@param buf integer
---@return tandem.Instance?
function M.current(buf)
  for _, instance in pairs(instances) do
    if instance.chat.buf == buf then
      return instance
    end
  end
  return instances[M.root(buf)] or last
end

-- What Neovim's own synchronisation would send, and tandem.documents sends instead.
local DOCUMENT_SYNC = {
  ['textDocument/didOpen'] = true,
  ['textDocument/didChange'] = true,
  ['textDocument/didClose'] = true,
  ['textDocument/didSave'] = true,
  ['textDocument/willSave'] = true,
}

---@param client vim.lsp.Client
local function silence_document_sync(client)
  client.server_capabilities.textDocumentSync = { openClose = false, change = 0 }
  local notify = client.notify
  -- The method comes first up to 0.10 and after the client from 0.11 on.
  client.notify = function(a, b, ...)
    local method = type(a) == 'string' and a or b
    if DOCUMENT_SYNC[method] then
      return true
    end
    return notify(a, b, ...)
  end
end

---@return table
local function capabilities()
  local result = vim.lsp.protocol.make_client_capabilities()
  result.general.positionEncodings = { 'utf-8' }
  result.textDocument.synchronization = { dynamicRegistration = false, didSave = true }
  result.workspace.applyEdit = true
  result.workspace.workspaceEdit = {
    documentChanges = true,
    resourceOperations = { 'create' },
    failureHandling = 'abort',
  }
  result.experimental = { tandem = { permission = true, save = true, resync = true } }
  return result
end

local MESSAGE_HIGHLIGHT = { 'DiagnosticError', 'DiagnosticWarn', 'DiagnosticInfo' }
local MESSAGE_LEVEL = { vim.log.levels.ERROR, vim.log.levels.WARN }

---@return table<string, function>
function Instance:handlers()
  local on = {}
  on['workspace/applyEdit'] = function(params)
    return require('tandem.edits').apply(self.documents, params.edit)
  end
  on['tandem/documents/save'] = function(params)
    local saved, failed = {}, {}
    for _, uri in ipairs(params.uris) do
      local reason = self.documents:save(vim.uri_to_fname(uri))
      if reason then
        failed[#failed + 1] = { uri = uri, reason = reason }
      else
        saved[#saved + 1] = uri
      end
    end
    vim.schedule(function()
      self.documents:release()
    end)
    return { saved = saved, failed = failed }
  end
  on['tandem/documents/resync'] = function(params)
    local buf = require('tandem.documents').buffer(vim.uri_to_fname(params.uri))
    local text, version = self.documents:text(buf or -1)
    if not text then
      return nil, vim.lsp.rpc_response_error(vim.lsp.protocol.ErrorCodes.InvalidParams, 'the document is not open')
    end
    return { text = text, version = version }
  end
  on['tandem/session/requestPermission'] = function(params)
    self.chat:call(params.toolCall)
    return {
      outcome = await(function(done)
        require('tandem.permission').ask(params, done)
      end),
    }
  end
  on['tandem/session/resolved'] = function(params)
    require('tandem.permission').withdraw(params.sessionId, params.toolCallId)
  end
  on['tandem/session/update'] = function(params)
    if params.sessionId == self.session then
      self:show(params.update)
    end
  end
  on['window/showMessage'] = function(params)
    self.chat:note(params.message, MESSAGE_HIGHLIGHT[params.type])
    require('tandem.chat').tell(params.message, MESSAGE_LEVEL[params.type])
  end
  local handlers = {}
  for method, handler in pairs(on) do
    handlers[method] = function(_, params)
      return handler(clean(params))
    end
  end
  return handlers
end

---@param update table
function Instance:show(update)
  local kind = update.sessionUpdate
  local text = type(update.content) == 'table' and update.content.text
  if kind == 'agent_message_chunk' and text then
    self.chat:text(text)
  elseif kind == 'tool_call' or kind == 'tool_call_update' then
    self.chat:call(update)
  elseif kind == 'notice' and text then
    self.chat:note(text, 'DiagnosticInfo')
  end
end

---@param method string
---@param params table
---@param callback fun(err?: {code: integer, message: string}, result: any)
function Instance:request(method, params, callback)
  local sent = self.client.rpc.request(method, params, function(err, result)
    callback(clean(err), clean(result))
  end)
  if not sent then
    callback({ code = 0, message = 'the server is not running' })
  end
end

---@param method string
---@param params table
function Instance:notify(method, params)
  self.client.rpc.notify(method, params)
end

--- Tells those who wait for the session how it went.
---@param err? string
function Instance:ready(err)
  local waiting = self.waiting
  self.waiting = {}
  for _, callback in ipairs(waiting) do
    callback(err)
  end
end

---@param err string
function Instance:fail(err)
  self:stop()
  self:ready(err)
end

---@param client vim.lsp.Client
function Instance:initialized(client)
  self.client = client
  if client.offset_encoding ~= 'utf-8' then
    return self:fail('the server does not speak utf-8 positions: is it tandem?')
  end
  silence_document_sync(client)
  self.documents = require('tandem.documents').new(self.root, function(method, params)
    client.rpc.notify(method, params)
  end)
  self.stop_following = self.documents:follow(function(buf)
    vim.lsp.buf_attach_client(buf, client.id)
  end)
  self:request('tandem/session/new', { cwd = self.root }, function(err, result)
    if err then
      return self:fail(err.message)
    end
    self.session = result.sessionId
    self.chat:begin()
    self:ready()
  end)
end

---@param code integer
function Instance:exited(code)
  instances[self.root] = instances[self.root] ~= self and instances[self.root] or nil
  if self.stop_following then
    self.stop_following()
    self.stop_following = nil
  end
  if self.documents then
    self.documents:drop()
  end
  if self.session then
    require('tandem.permission').withdraw(self.session)
    self.chat:note(('The server has ended (%d).'):format(code), code == 0 and 'Comment' or 'DiagnosticError')
  end
  self.session, self.running = nil, false
  self:ready('the server has ended')
end

--- Starts the server; whoever waits hears how it went.
---@private
function Instance:start()
  local config = require('tandem.config').get()
  if vim.fn.executable(config.binary) == 0 then
    return self:fail(('%q is not a program; set vim.g.tandem.binary'):format(config.binary))
  end
  local start = vim.lsp.start_client
  if modern then
    start = function(options)
      return vim.lsp.start(options, { attach = false })
    end
  end
  self.id = start({
    name = 'tandem',
    cmd = { vim.fn.exepath(config.binary), '--stdio' },
    cmd_env = next(config.env) and config.env or nil,
    cmd_cwd = self.root,
    root_dir = self.root,
    workspace_folders = { { uri = vim.uri_from_fname(self.root), name = vim.fs.basename(self.root) } },
    init_options = next(config.settings) and config.settings or nil,
    settings = next(config.settings) and { tandem = config.settings } or nil,
    capabilities = capabilities(),
    handlers = self:handlers(),
    on_init = function(client)
      self:initialized(client)
    end,
    on_error = function(_, err)
      if not self.client then
        self:fail(tostring(err))
      end
    end,
    on_exit = function(code)
      vim.schedule(function()
        self:exited(code)
      end)
    end,
  })
  if not self.id then
    self:fail('the server could not be started')
  end
end

--- Ends the server; a turn that runs is cancelled by it.
function Instance:stop()
  instances[self.root] = instances[self.root] ~= self and instances[self.root] or nil
  local client = self.id and vim.lsp.get_client_by_id(self.id)
  if client and modern then
    client:stop()
  elseif client then
    client.stop()
  end
end

--- Gives the instance of a workspace with a session to it, started where it is not running yet.
---@param root string
---@param callback fun(instance: tandem.Instance, err?: string)
function M.ensure(root, callback)
  local instance = instances[root]
  if instance and instance.session then
    last = instance
    return callback(instance)
  end
  local starting = instance ~= nil
  if not instance then
    chats[root] = chats[root] or require('tandem.chat').new(vim.fs.basename(root))
    instance = setmetatable({ root = root, chat = chats[root], running = false, waiting = {} }, Instance)
    instances[root] = instance
  end
  last = instance
  table.insert(instance.waiting, function(err)
    callback(instance, err)
  end)
  if not starting then
    instance:start()
  end
end

return M
