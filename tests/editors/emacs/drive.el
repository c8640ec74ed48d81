;;; drive.el --- Drives agent-shell in batch mode, for tests -*- lexical-binding: t; -*-

;; `emacs --batch -Q -l drive.el -l INIT -f ACTION' is one start of Emacs.  What happens is printed as
;; JSON, one object a line.  Every wait is bounded.

;;; Code:

(require 'json)
(require 'map)
(require 'seq)

(defvar drive-seconds 60 "How long to wait for anything.")
(defvar drive-events nil "What agent-shell told, newest first.")
(defvar drive-shell nil "The shell's buffer.")

(setq user-emacs-directory (file-name-as-directory (expand-file-name "emacs" (getenv "HOME")))
      make-backup-files nil
      create-lockfiles nil
      locale-coding-system (quote utf-8)
      agent-shell-session-strategy 'new
      agent-shell-confirm-interrupt nil)

(defun drive-say (&rest fields)
  "Print FIELDS, a property list, as a line of JSON."
  (princ (concat (json-encode fields) "\n")))

(defun drive-wait (what test)
  "Wait until TEST returns non-nil, and return that; fail with WHAT."
  (let ((end (+ (float-time) drive-seconds)) found)
    (while (not (or (setq found (funcall test)) (> (float-time) end)))
      (accept-process-output nil 0.05))
    (or found (error "Waited in vain for %s.  Told: %S\n%s" what (reverse drive-events) (drive-text)))))

(defun drive-told (event)
  "Wait for EVENT since the last call, and return its data."
  (let ((found (drive-wait event (lambda () (seq-find (lambda (each) (eq (car each) event)) drive-events)))))
    (setq drive-events nil)
    (cdr found)))

(defun drive-text ()
  "What the shell shows."
  (if (buffer-live-p drive-shell)
      (with-current-buffer drive-shell (buffer-substring-no-properties (point-min) (point-max)))
    ""))

(defun drive-start (&optional session)
  "Start a shell on the agent that is registered first, on SESSION if it is given; return the session's id."
  (require 'agent-shell)
  (let ((config (car agent-shell-agent-configs)))
    (drive-say :agent (symbol-name (map-elt config :identifier)))
    (setq drive-shell (agent-shell-start :config config :session-id session)))
  (agent-shell-subscribe-to
   :shell-buffer drive-shell
   :on-event (lambda (event) (push (cons (map-elt event :event) (map-elt event :data)) drive-events)))
  (drive-wait 'prompt-ready (lambda () (assq 'prompt-ready drive-events)))
  (drive-say :session (with-current-buffer drive-shell (map-nested-elt agent-shell--state '(:session :id)))
             :text (drive-text)))

(defun drive-send (text)
  "Send TEXT as a person does."
  (setq drive-events nil)
  (agent-shell-insert :text text :submit t :no-focus t :shell-buffer drive-shell))

(defun drive-prompt (text)
  "Send TEXT and wait for the turn's end; print how it ended."
  (drive-send text)
  (let ((ended (drive-told 'turn-complete)))
    (drive-say :stop (map-elt ended :stop-reason) :text (drive-text))))

(defun drive-answer (kind)
  "Answer what the agent asks for with the option of KIND, and print what was asked."
  (setq agent-shell-permission-responder-function
        (lambda (asked)
          (drive-say :asked (map-nested-elt asked '(:tool-call :title)))
          (let ((option (seq-find (lambda (each) (equal (map-elt each :kind) kind)) (map-elt asked :options))))
            (funcall (map-elt asked :respond) (map-elt option :option-id))
            t))))

(defun drive-leave ()
  "Close the shell; the agent ends with it."
  (let ((kill-buffer-query-functions nil)) (kill-buffer drive-shell)))

(provide 'drive)
;;; drive.el ends here
