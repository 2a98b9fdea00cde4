--- One server for each workspace: starting it, its session, and what it asks of the editor.
local api = vim.api
local protocol = require('tandem.protocol')

local M = {}

require('tandem.languages').listen()

-- From 0.11 on, a client's functions are methods and it can be started without a buffer.
local modern = vim.fn.has('nvim-0.11') == 1

---@class tandem.Instance
---@field root string
---@field chat tandem.Chat
---@field documents? tandem.Documents
---@field session? string
---@field review tandem.Review
---@field running boolean a turn is running
---@field turn? integer the last turn that has ended
---@field model? string
---@field mode? string
---@field modes? tandem.Choice[]
---@field models? tandem.ModelChoice[]
---@field usage? tandem.Usage of the turn
---@field cost? tandem.Cost of the session
---@field jobs tandem.JobState[] the commands that its server runs in the background
---@field sandbox? tandem.SandboxState
---@field later? tandem.ContentBlock[] the next prompt
---@field quiet? boolean it was started only to see whether changes wait: nothing is said, and where none do it ends
---@field private loading? {id: string, updates: tandem.Update[]} the session that is being loaded
---@field private given? table what the server was started with
---@field private ending? boolean it was told to end
---@field private restarting? boolean another one follows, which goes on with the session
---@field private after fun()[] what waits for its end
---@field private client? vim.lsp.Client
---@field private id? integer
---@field private waiting fun(err?: string)[]
---@field private stop_following? fun()
local Instance = {}
Instance.__index = Instance

local instances = {} ---@type table<string, tandem.Instance>
local chats = {} ---@type table<string, tandem.Chat> they outlive the servers
local wanted = {} ---@type table<string, {mode?: string, model?: string}> for the sessions to come, by root
local ending = {} ---@type table<string, tandem.Instance> by root: a session can be had again once its server has ended
local shown = {} ---@type table<string, string> the session that was shown last, by root
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
  for root, chat in pairs(chats) do
    if chat.buf == buf then
      return root
    end
  end
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
    resourceOperations = { 'create', 'rename', 'delete' },
    failureHandling = 'abort',
  }
  ---@type tandem.ClientExperimental
  local tandem = { permission = true, clarify = true, save = true, resync = true, review = true, settingsAreOwn = true }
  tandem.editorRequest = true
  tandem.landed = true
  tandem.protocolVersion = protocol.VERSION
  result.experimental = { tandem = tandem }
  return result
end

-- LSP's code for what cannot be done at all; Neovim 0.10 sends no code that it does not know.
local REQUEST_FAILED = -32803
vim.lsp.protocol.ErrorCodes[REQUEST_FAILED] = vim.lsp.protocol.ErrorCodes[REQUEST_FAILED] or 'RequestFailed'

local MESSAGE_HIGHLIGHT = { 'DiagnosticError', 'DiagnosticWarn', 'DiagnosticInfo' }
local MESSAGE_LEVEL = { vim.log.levels.ERROR, vim.log.levels.WARN }

--- What is said of a question that ended without an answer here, by who or what ended it; another client by its name.
local RESOLVED = { ['end'] = '', rule = 'your answer to another question covers this one' }

---@return table<string, function>
function Instance:handlers()
  local on = {}
  on['workspace/applyEdit'] = function(params)
    local reply, never = require('tandem.edits').apply(self.documents, params.edit)
    if never then
      vim.schedule(function()
        self.documents:release()
        self.chat:note(never, 'TandemWaiting')
        require('tandem.chat').tell(never, vim.log.levels.WARN)
      end)
      return nil, vim.lsp.rpc_response_error(REQUEST_FAILED, never)
    end
    return reply
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
  on['tandem/editor/request'] = function(params)
    return await(function(done)
      require('tandem.languages').ask(self.documents, params, done)
    end)
  end
  on['tandem/session/requestPermission'] = function(params)
    -- What the question shows is not yet what the call did.
    self.chat:call(vim.tbl_extend('force', params.toolCall, { content = {} }))
    return await(function(done)
      require('tandem.question').permission(self, params, done)
    end)
  end
  on['tandem/session/clarify'] = function(params)
    local answer = await(function(done)
      require('tandem.question').clarify(self, params, done)
    end)
    return { answer = answer or '' }
  end
  on['tandem/session/resolved'] = function(params)
    if require('tandem.question').withdraw(params.sessionId, params.toolCallId) and RESOLVED[params.by] ~= '' then
      local by = RESOLVED[params.by] or require('tandem.visible').line(params.by) .. ' has answered'
      require('tandem.chat').tell(by .. ', so you are not asked any more')
    end
  end
  on['tandem/session/update'] = function(params)
    if self.loading and params.sessionId == self.loading.id then
      table.insert(self.loading.updates, params.update)
    elseif params.sessionId == self.session then
      self:show(params.update)
    elseif vim.tbl_get(params.update, '_meta', 'tandem', 'jobs') then
      self:look() -- of a session that stays open for its commands
    end
  end
  on['tandem/changes/didChange'] = function(params)
    if params.sessionId == self.session then
      self.review:later(params.uris)
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

---@param update tandem.Update
function Instance:show(update)
  if update.sessionUpdate == 'current_mode_update' then
    self.mode = update.currentModeId
    return require('tandem.status').changed()
  elseif update.sessionUpdate == 'usage_update' then
    self.usage, self.cost = update.usage or self.usage, update.cost or self.cost
    return require('tandem.status').changed()
  elseif update.sessionUpdate == 'session_info_update' then
    if vim.tbl_get(update, '_meta', 'tandem', 'jobs') then
      self:look()
    end
    return
  end
  self.chat:update(update)
  if update.status == 'completed' or update.status == 'failed' then
    -- Whoever has been asked about it, nobody waits for the answer any more.
    require('tandem.question').withdraw(self.session, update.toolCallId)
  end
end

--- Whether the running server takes a method.
---@param method string
---@return boolean
function Instance:serves(method)
  local capabilities = self.client and self.client.server_capabilities or {}
  return vim.list_contains(vim.tbl_get(capabilities, 'experimental', 'tandem', 'methods') or {}, method)
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
  local version = vim.tbl_get(client.server_capabilities, 'experimental', 'tandem', 'protocolVersion')
  if version ~= protocol.VERSION then
    local name = vim.tbl_get(client, 'server_info', 'version')
    local binary = ('%q%s'):format(require('tandem.config').get().binary, name and (' (%s)'):format(name) or '')
    if type(version) ~= 'number' then
      return self:fail(binary .. ' is not tandem, or one that is too old: update it, or set vim.g.tandem.binary')
    end
    local older = version < protocol.VERSION and 'the program' or 'this plugin'
    local both = '%s speaks version %s of the protocol and this plugin version %d: update %s'
    return self:fail(both:format(binary, version, protocol.VERSION, older))
  end
  silence_document_sync(client)
  self.documents = require('tandem.documents').new(self.root, function(method, params)
    client.rpc.notify(method, params)
  end)
  self.stop_following = self.documents:follow(function(buf)
    vim.lsp.buf_attach_client(buf, client.id)
  end, self:serves('tandem/documents/elsewhere'))
  self:begin(function(err)
    if err then
      return self:fail(err)
    end
    self:ready()
  end)
end

--- Goes on with the folder's last session, or begins one.
---@param callback fun(err?: string)
function Instance:begin(callback)
  local sessions = require('tandem.sessions')
  if require('tandem.config').get().resume and self:serves('tandem/session/list') then
    return sessions.resume(self, callback)
  end
  self:create({}, callback)
end

--- Takes a session as the one that is shown.
---@private
---@param result tandem.NewSessionResult
function Instance:adopt(result)
  self.session, self.turn, self.usage, self.cost, self.later = result.sessionId, nil, nil, nil, nil
  shown[self.root] = self.session
  self.mode = vim.tbl_get(result, 'modes', 'currentModeId')
  self.modes = vim.tbl_get(result, 'modes', 'availableModes')
  self.model = vim.tbl_get(result, 'models', 'currentModelId')
  self.models = vim.tbl_get(result, 'models', 'availableModels')
  self.review:start()
  self:look()
  require('tandem.status').changed()
end

--- Asks the server what confines commands, and which run in the background.
function Instance:look()
  self:request('tandem/status', vim.empty_dict(), function(err, result)
    if err then
      return
    end
    self.sandbox = result.sandbox
    self.jobs = result.jobs or {}
    require('tandem.status').changed()
  end)
end

--- Begins a session. The remarks are said in its chat.
---@param remarks string[]
---@param callback fun(err?: string)
function Instance:create(remarks, callback)
  local want = wanted[self.root] or {}
  local params = { cwd = self.root, mode = want.mode, model = want.model }
  self:request('tandem/session/new', params, function(err, result)
    if err and err.code == protocol.ERRORS.model_unavailable then
      return callback(err.message .. '\n:help tandem-model tells how to name a model and to give its key.')
    elseif err then
      return callback(err.message)
    end
    wanted[self.root] = nil
    self.chat:begin()
    self:adopt(result)
    self.chat:greet(require('tandem.welcome').lines(self, remarks))
    callback()
  end)
end

--- Goes on with a session that is kept, in the place of the present one. Where that fails nothing has changed.
---@param id string
---@param callback fun(err?: {code: integer, message: string})
---@param open? boolean the present session stays open in the server
function Instance:load(id, callback, open)
  local loading = { id = id, updates = {} }
  self.loading = loading
  self:request('tandem/session/load', { sessionId = id, cwd = self.root }, function(err, result)
    self.loading = nil
    if err then
      return callback(err)
    end
    if self.session and self.session ~= id then
      self:leave(open)
    end
    self.chat:clear()
    self.chat:begin()
    self:adopt(result)
    self.chat:together(function()
      for _, update in ipairs(loading.updates) do
        self:show(update)
      end
      self.chat:settle()
    end)
    self:want(wanted[self.root] or {})
    wanted[self.root] = nil
    local default = vim.tbl_get(self.models or {}, 1, 'modelId')
    if self.model == require('tandem.welcome').EMBEDDED and default and default ~= self.model then
      self:want({ model = '' }) -- there was no other one then
      self.model = default
    end
    self.review:all(function()
      callback()
    end)
  end)
end

--- Lets go of the session, which is stored.
---@param open? boolean it stays open in the server, for its background commands
function Instance:leave(open)
  local old = self.session
  require('tandem.question').withdraw(old)
  self.review:clear()
  self.session = nil
  if not open then
    self:request('tandem/session/close', { sessionId = old }, function() end)
  end
end

--- Leaves the session and begins another one, in an empty chat. Where that fails the server ends: the next command starts
--- it again and goes on with the session.
---@param open? boolean the present session stays open in the server
function Instance:renew(open)
  local remarks = require('tandem.sessions').left(self)
  require('tandem.sessions').mark(self.root, self.session, false)
  self:leave(open)
  self.chat:clear()
  self:create(remarks, function(err)
    if err then
      require('tandem.chat').tell(err, vim.log.levels.ERROR)
      return self:fail(err)
    end
    self:ready()
  end)
end

--- Sets the mode or the model of the session.
---@param what {mode?: string, model?: string}
---@param callback? fun()
function Instance:want(what, callback)
  for field, method in pairs({ mode = 'tandem/session/setMode', model = 'tandem/session/setModel' }) do
    local value = what[field]
    if value then
      local params = { sessionId = self.session, [field] = value }
      self:request(method, params, function(err)
        if err and value ~= '' then
          return require('tandem.chat').tell(err.message, vim.log.levels.ERROR)
        elseif not err then
          self[field] = value ~= '' and value or self[field]
          require('tandem.status').changed()
        end
        if callback then
          callback()
        end
      end)
    end
  end
end

--- What the server says of itself, nil where it does not answer in time.
---@param timeout integer ms
---@return tandem.StatusResult?
function Instance:status(timeout)
  local answer
  self:request('tandem/status', vim.empty_dict(), function(_, result)
    answer = result
  end)
  vim.wait(timeout, function()
    return answer ~= nil
  end, 10)
  return answer
end

---@param code integer
---@param signal integer
function Instance:exited(code, signal)
  instances[self.root] = instances[self.root] ~= self and instances[self.root] or nil
  if self.stop_following then
    self.stop_following()
    self.stop_following = nil
  end
  if self.documents then
    self.documents:drop()
  end
  if self.session then
    local _, waits = self.review:pending()
    require('tandem.question').withdraw(self.session)
    self.review:clear()
    local how = signal ~= 0 and ('signal %d'):format(signal) or tostring(code)
    local text = ('The server stopped (%s). The next :Tandem restarts it and resumes the session'):format(how)
    if waits > 0 then
      text = ('%s; %s.'):format(text, waits == 1 and '1 change waits' or ('%d changes wait'):format(waits))
    end
    if self.restarting then
      self.chat:settle()
    else
      self.chat:ended('lost', (text:gsub('%.?$', '.')))
    end
  end
  self.session, self.running = nil, false
  ending[self.root] = ending[self.root] ~= self and ending[self.root] or nil
  require('tandem.status').changed()
  self:ready('the server has ended')
  local after = self.after
  self.after = {}
  for _, fn in ipairs(after) do
    fn()
  end
end

-- What a key or the address of a service is named by.
local SERVICE = { '_KEY$', '_TOKEN$', '_BASE_URL$', '^TANDEM_', '_PROXY$', '_proxy$' }

--- What the server gets from Neovim when it starts and cannot be told of later.
---@return table
local function giving()
  local config = require('tandem.config').get()
  local environ = {}
  for name, value in pairs(vim.fn.environ()) do
    for _, pattern in ipairs(SERVICE) do
      environ[name] = name:find(pattern) and value or environ[name]
    end
  end
  for _, provider in pairs(config.settings.providers or {}) do
    local name = type(provider) == 'table' and provider.apiKeyEnv
    if name then
      environ[name] = vim.env[name]
    end
  end
  return { binary = config.binary, env = config.env, settings = config.settings, environ = environ }
end

--- Starts the server; whoever waits hears how it went.
---@private
function Instance:start()
  local config = require('tandem.config').get()
  if vim.fn.executable(config.binary) == 0 then
    local missing = '%q is not a program.\n`make install` in the sources of Tandem installs it; or name it in %s.'
    return self:fail(missing:format(config.binary, 'vim.g.tandem.binary'))
  end
  local start = vim.lsp.start_client
  if modern then
    start = function(options)
      return vim.lsp.start(options, { attach = false })
    end
  end
  self.given = giving()
  local command = { vim.fn.exepath(config.binary), '--stdio' }
  self.id = start({
    name = 'tandem',
    cmd = function(dispatchers)
      local on_exit = dispatchers.on_exit
      dispatchers.on_exit = function(code, signal)
        vim.schedule(function()
          self:exited(code, signal)
        end)
        on_exit(0, 0) -- that it ended is said in the chat; Neovim's message would ask for a key
      end
      local env = next(config.env) and config.env or nil
      return vim.lsp.rpc.start(command, dispatchers, { cwd = self.root, env = env })
    end,
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
  })
  if not self.id then
    self:fail('the server could not be started')
  end
end

--- So long a server may take to end before it is made to.
local ENDING_MS = 5000

--- Ends the server; a turn that runs is cancelled by it.
function Instance:stop()
  instances[self.root] = instances[self.root] ~= self and instances[self.root] or nil
  local client = self.id and vim.lsp.get_client_by_id(self.id)
  if not client or self.ending then
    return
  end
  self.ending, ending[self.root] = true, self
  local function stop(force)
    if modern then
      client:stop(force)
    else
      client.stop(force)
    end
  end
  stop()
  vim.defer_fn(function()
    if ending[self.root] == self then
      stop(true)
    end
  end, ENDING_MS)
end

--- The instances that run.
---@return tandem.Instance[]
function M.all()
  return vim.tbl_values(instances)
end

--- The session that a workspace showed last in this Neovim.
---@param root string
---@return string?
function M.shown(root)
  return shown[root]
end

--- Ends the server and starts another one, which goes on with the session: for a key or settings that are new.
---@param callback fun(instance: tandem.Instance, err?: string)
function Instance:restart(callback)
  self.restarting = true
  self:stop()
  M.ensure(self.root, function(instance, err)
    if not err then
      instance.chat:note('The server was restarted with the new key or settings.')
    end
    callback(instance, err)
  end)
end

--- Keeps a mode or a model for the session that is to come in a workspace.
---@param root string
---@param field 'mode'|'model'
---@param value? string
---@return string? what is kept
function M.want(root, field, value)
  if value then
    wanted[root] = wanted[root] or {}
    wanted[root][field] = value
  end
  return (wanted[root] or {})[field]
end

--- The instances that run.
---@return tandem.Instance[]
function M.all()
  return vim.tbl_values(instances)
end

--- Gives the instance of a workspace with a session to it, started where it is not running yet, or where what it was
--- started with has changed. A quiet start is one that nobody asked for.
---@param root string
---@param callback fun(instance: tandem.Instance, err?: string)
---@param quiet? boolean
function M.ensure(root, callback, quiet)
  local instance = instances[root]
  if instance and instance.session then
    last = instance
    if not instance.running and not vim.deep_equal(instance.given, giving()) then
      return instance:restart(callback)
    end
    return callback(instance)
  end
  if not instance and ending[root] then
    table.insert(ending[root].after, function()
      M.ensure(root, callback, quiet)
    end)
    return
  end
  local starting = instance ~= nil
  if not instance then
    chats[root] = chats[root] or require('tandem.chat').new(vim.fs.basename(root))
    instance = setmetatable({
      root = root, chat = chats[root], running = false, jobs = {}, waiting = {}, after = {}, quiet = quiet,
    }, Instance)
    instance.review = require('tandem.review').new(instance)
    instance.chat.instance = instance
    instances[root] = instance
  end
  instance.quiet = instance.quiet and quiet
  last = instance
  table.insert(instance.waiting, function(err)
    callback(instance, err)
  end)
  if not starting then
    instance:start()
  end
end

return M
