;;; acp-adapter.el --- The acp-adapter agent for agent-shell -*- lexical-binding: t; -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "29.1") (agent-shell "0.33.2"))
;; Keywords: tools, convenience
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Puts acp-adapter among the agents that `agent-shell' offers.  Agent-shell
;; speaks the Agent Client Protocol itself, so all that is said here is how the
;; agent is started.  `acp-adapter setup --editor emacs' writes the lines that
;; load this file into your init file.

;;; Code:

(require 'seq)

(defvar agent-shell-agent-configs)
(declare-function agent-shell-make-agent-config "ext:agent-shell")
(declare-function agent-shell-start "ext:agent-shell")
(declare-function agent-shell--make-acp-client "ext:agent-shell")
(declare-function acp-make-client "ext:acp")

(defgroup acp-adapter nil
  "The acp-adapter agent."
  :group 'tools)

(defcustom acp-adapter-command '("acp-adapter")
  "The agent's program, best with its full path, and its arguments."
  :type '(repeat string))

(defcustom acp-adapter-environment nil
  "Environment variables for the agent, each as \"NAME=value\"."
  :type '(repeat string))

(defun acp-adapter-make-agent-config ()
  "Return the agent's configuration, as in `agent-shell-agent-configs'."
  (agent-shell-make-agent-config
   :identifier 'acp-adapter
   :mode-line-name "acp-adapter"
   :buffer-name "acp-adapter"
   :shell-prompt "acp-adapter> "
   :shell-prompt-regexp "acp-adapter> "
   :client-maker #'acp-adapter--make-client
   :install-instructions "Run `acp-adapter doctor' in a terminal, or see `acp-adapter-command'."))

;;;###autoload
(defun acp-adapter-start ()
  "Start acp-adapter in a new shell of `agent-shell'."
  (interactive)
  (require 'agent-shell)
  (agent-shell-start :config (acp-adapter-make-agent-config)))

(defun acp-adapter-register ()
  "Put the agent first in `agent-shell-agent-configs'.
What was registered before is replaced.  Where that variable is a function, it
decides by itself, and `acp-adapter-start' is the way."
  (unless (functionp agent-shell-agent-configs)
    (setq agent-shell-agent-configs
          (cons (acp-adapter-make-agent-config)
                (seq-remove #'acp-adapter--ours-p agent-shell-agent-configs)))))

(defun acp-adapter--ours-p (entry)
  "Whether ENTRY of `agent-shell-agent-configs' is this agent."
  (and (consp entry) (eq (alist-get :identifier entry) 'acp-adapter)))

(defun acp-adapter--make-client (buffer)
  "Return a client by which the shell in BUFFER can start the agent."
  ;; Agent-shell's own maker, where there is one, knows of containers.
  (funcall (if (fboundp 'agent-shell--make-acp-client) #'agent-shell--make-acp-client #'acp-make-client)
           :command (car acp-adapter-command)
           :command-params (cdr acp-adapter-command)
           :environment-variables acp-adapter-environment
           :context-buffer buffer))

(with-eval-after-load 'agent-shell
  (acp-adapter-register))

(provide 'acp-adapter)
;;; acp-adapter.el ends here
